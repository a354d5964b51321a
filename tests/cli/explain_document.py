#!/usr/bin/env python3
"""muster explain --file: reports of tools, recognised by their content, one object per problem."""
import gzip
import json
import os

from checks import STATE, check, finish, run

KEYS = ('line_first line_last source code pci mig pid process caused_by meaning severity scope action confidence').split()
SMI = '''
==============NVSMI LOG==============

Timestamp                                              : Sun Nov 15 00:15:38 2026
Driver Version                                         : 580.159.04
CUDA Version                                           : 13.0

Attached GPUs                                          : 2
GPU 00000000:1B:00.0
    Product Name                                       : NVIDIA H200
    GPU Recovery Action                                : {action}
    ECC Errors
        Volatile
            DRAM Uncorrectable                         : 0
    Remapped Rows
        Pending                                        : {pending}
        Remapping Failure Occurred                     : No
GPU 00000000:43:00.0
    Product Name                                       : NVIDIA H200
    GPU Recovery Action                                : None
'''
XML = '''<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
<attached_gpus>1</attached_gpus>
<gpu id="00000000:1B:00.0">
<ecc_errors><volatile>
<dram_uncorrectable>2</dram_uncorrectable>
</volatile></ecc_errors>
</gpu>
</nvidia_smi_log>
'''
RAS = '''NCCL version 2.26.2 compiled with CUDA 12.6
CUDA runtime version 12060, driver version 12060

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      4          8            1         32       32

Errors
======

DEAD
  1 job process is considered dead (unreachable via the RAS network)
  Process 3487984 on node 172.16.64.213 managing GPU 5

Warnings
========
'''
IB = '''Errors for 0x2c90300004100 "leaf-000"
   GUID 0x2c90300004100 port ALL: [SymbolErrorCounter == 65535] [LinkDownedCounter == 7]
   GUID 0x2c90300004100 port 9: [SymbolErrorCounter == 65535] [LinkDownedCounter == 7] [PortXmitData == 252936 (988.031KB)]

## Summary: 76 nodes checked, 1 bad nodes found
##          257 ports checked, 2 ports have errors beyond threshold
'''
AMD = '[\n  {"gpu": 0, "ecc": {"total_uncorrectable_count": 0}},\n  {"gpu": 1, "ecc": {"total_uncorrectable_count": 3}}\n]\n'
os.makedirs(STATE, exist_ok=True)


def events(text, *more):
    ran = run('explain', '--file', '-', '-o', 'jsonl', *more, stdin=text)
    return ran, [json.loads(line) for line in ran.out.splitlines()]


ran, found = events(SMI.format(action='Reboot', pending='Yes'))
check(ran.code == 0 and [(e['source'], e['code'], e['pci']) for e in found] == [
    ('nvidia_smi', 'recovery_action_2', '0000:1b:00'), ('nvidia_smi', 'row_remap_pending', '0000:1b:00')], 'nvidia-smi -q', ran)
check(all(list(e) == KEYS for e in found), 'with the keys of a log', ran)
check(found[0]['severity'] == 'fatal' and found[0]['action'] == 'REBOOT_NODE' and found[0]['line_first'] == 11,
      "the driver's verdict, and its line", found[0])
check(found[1]['action'] == 'RESET_GPU at job end' and found[1]['pid'] is None and found[1]['process'] is None,
      'what to do is in the catalogue', found[1])
check('recognised as nvidia-smi -q of 2 GPUs, driver 580.159.04: 2 problems' in ran.err, 'what it is, on stderr', ran)
ran, found = events(SMI.format(action='None', pending='No'))
check(ran.code == 0 and ran.out == '' and 'recognised as nvidia-smi -q' in ran.err and 'nothing is wrong in it' in ran.err,
      'a healthy one prints nothing and says so', ran)
ran = run('explain', '--file', '-', '-o', 'json', stdin=SMI.format(action='None', pending='No'))
check(ran.out == '[]\n', 'or an empty list', ran)
ran, found = events(XML)
check([(e['code'], e['line_first'], e['severity']) for e in found] == [('ecc_uncorrectable', 7, 'fatal')], 'and -q -x', ran)
ran, found = events(RAS)
check([(e['source'], e['code'], e['pid'], e['line_first'], e['line_last']) for e in found] ==
      [('nccl_ras', 'DEAD', 3487984, 14, 16)] and '172.16.64.213' in found[0]['meaning'], 'ncclras', ran)
ran, found = events(IB)
check([(e['source'], e['code'], e['scope']) for e in found] == [
    ('ibqueryerrors', 'SymbolErrorCounter', 'fabric'), ('ibqueryerrors', 'LinkDownedCounter', 'fabric')], 'ibqueryerrors', ran)
ran, found = events(AMD)
check([(e['source'], e['code'], e['line_first']) for e in found] == [('amd_smi', 'ecc_uncorrectable', 3)], 'amd-smi', ran)
ran, found = events('NVIDIA-SMI has failed because it couldn\'t communicate with the NVIDIA driver.\n')
check([e['code'] for e in found] == ['no_driver'], 'nvidia-smi without a driver', ran)
ran, found = events(XML[:XML.index('</gpu>')])
check(ran.code == 0 and 'it is not whole' in ran.err and 'nothing wrong in what could be read' in ran.err, 'cut off', ran)

with gzip.open(STATE + '/ib.gz', 'wt') as f:
    f.write(IB)
ran = run('explain', '--file', STATE + '/ib.gz')
check(ran.code == 0 and 'LinkDownedCounter' in ran.out and 'leaf-000' in ran.out and '2 problems' in ran.err, 'packed', ran)
ran, found = events('NCCL version 2.21.5+cuda12.4\n[   50.0] NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.\n')
check([e['code'] for e in found] == ['Xid 79'] and '2 lines' in ran.err, 'a log that begins like a report is a log', ran)
with open(STATE + '/ours.yaml', 'w') as f:
    f.write('name: ours\nfaults:\n  - {code: Row remap pending, severity: info, action: wait for the maintenance window}\n')
ran, found = events(SMI.format(action='None', pending='Yes'), '--policy', STATE + '/ours.yaml')
check([(e['severity'], e['action']) for e in found] == [('info', 'wait for the maintenance window')],
      "a policy's word counts", ran)

# As people have them: with a mark of UTF-8, pasted with the prompt, in a bundle, cut off, in another encoding.
LOG = '[   50.0] NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.\n'
bad = SMI.format(action='Reboot', pending='No')
for text, code in ((bad, 'recovery_action_2'), (bad.lstrip(), 'recovery_action_2'), (XML, 'ecc_uncorrectable'), (RAS, 'DEAD'),
                   (AMD, 'ecc_uncorrectable'), (IB, 'SymbolErrorCounter'), (LOG, 'Xid 79')):
    ran, found = events('\ufeff' + text)
    check(ran.code == 0 and found and found[0]['code'] == code, 'behind a mark of UTF-8: ' + code, ran)
for prompt, text, code, line in (('root@gpu01:~# nvidia-smi -q\n', bad, 'recovery_action_2', 12),
                                 ('[root@gpu01 ~]# nvidia-smi -q -x\n', XML, 'ecc_uncorrectable', 8),
                                 ('# ncclras\n', RAS, 'DEAD', 15), ('$ sudo ibqueryerrors\n', IB, 'SymbolErrorCounter', 4)):
    ran, found = events(prompt + text)
    check([e['code'] for e in found][:1] == [code] and found[0]['line_first'] == line and 'recognised as' in ran.err and
          ' 0 events' not in ran.err, 'behind a prompt: ' + prompt.strip(), ran)
for text in (LOG * 30 + bad, bad + LOG):
    ran, found = events(text)
    check(sorted({e['code'] for e in found}) == ['Xid 79', 'recovery_action_2'] and ' 1 event' in ran.err and
          'recognised as nvidia-smi -q of 2 GPUs' in ran.err and ('from line 32 on ' in ran.err) == text.startswith(LOG),
          'a log and a report in one file: both are read', ran)
ran, found = events(SMI.format(action='None', pending='No')[:-250])
check(ran.code == 0 and not found and 'it is not whole: 2 GPUs are attached' in ran.err, 'cut off: no GPU is missing', ran)
for text, n in ((AMD[:AMD.index('{"gpu": 1')], 0), (AMD + AMD, 2)):
    ran, found = events(text)
    check(ran.code == 1 and len(found) == n and 'could not be read as a whole' in ran.err and 'nothing' not in ran.err,
          'amd-smi that is no JSON as a whole', ran)
for text in ('hello\nworld\n', '<html>\n</html>\n'):
    ran, found = events(text)
    check(ran.code == 0 and not found and 'nothing in it looks like a log or report' in ran.err and '--help' in ran.err,
          'what is nothing of ours is called so', ran)
check('looks like' not in events('[    1.0] hello\n')[0].err, 'a quiet log is a log')
ran, found = events('')
check(ran.code == 0 and 'it is empty' in ran.err and 'looks like' not in ran.err, 'an empty file', ran)
for name, data in (('utf16', ('\ufeff' + bad).encode('utf-16-le')), ('plain16', bad.encode('utf-16-be')),
                   ('utf16.gz', gzip.compress(LOG.encode('utf-16')))):
    with open(f'{STATE}/{name}', 'wb') as f:
        f.write(data)
    ran = run('explain', '--file', f'{STATE}/{name}', '-o', 'jsonl')
    check(ran.code == 1 and not ran.out and 'UTF-16' in ran.err and 'lines' not in ran.err, 'UTF-16 is refused: ' + name, ran)
ran = run('explain', '--file', STATE + '/nonexist')
check(ran.code == 3 and 'lines' not in ran.err, 'a file that is not there has no lines to count', ran)
finish()
