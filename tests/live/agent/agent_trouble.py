"""What goes wrong around an agent: a driver that hangs for ever, a controller that is away, a full disk, a flood of lines."""
import os
import re
import socket
import subprocess
import sys
import threading
import time

from stall import Stall
from ward import DIR, Agent, Controller, check, fault, finish, numbers, run, until

controller = Controller()
controller.start()

# ---- an Xid that only NVML tells of, because no kernel log that can be trusted is followed
xid = os.path.join(DIR, 'xid')
x = Agent(controller, 7, env={'FAKE_NVML_XID': xid})
x.start()
until(lambda: x.metric('muster_agent_controller_up') == 1 and x.metric('DCGM_FI_DEV_GPU_TEMP') == 41)
time.sleep(1)
with open(xid + '.new', 'w') as f:
    f.write('31')
began = time.monotonic()
os.rename(xid + '.new', xid)
found = until(lambda: [f for f in controller.findings('app_error') if f['node'] == x.name])
check(found, f'an Xid that NVML tells of is a finding that blames the program, {1000 * (time.monotonic() - began):.0f} ms later')
check(until(lambda: re.search(r'^DCGM_FI_DEV_XID_ERRORS\{gpu="2",.*\} 31$', x.page(), re.M)), 'and stands on the page')
x.kill()

# ---- a driver that hangs, and a site's own probe that does
hang = os.path.join(DIR, 'hang')
a = Agent(controller, 1, more=['--deadline', '1s', '--probe', 'stuck=sleep infinity', '--probe', 'sour=echo bad disk; exit 3'],
          env={'FAKE_NVML_HANG': hang})
a.start()
check(until(lambda: controller.findings('driver_hang')), 'a probe that never comes back is a finding')
check(until(lambda: 'exit 3 bad disk' in run('check', '--spool', a.spool).stdout), 'a probe that complains is in the verdict',
      run('check', '--spool', a.spool).stdout)
open(hang, 'w').close()
check(until(lambda: a.metric('muster_probe_hung\\{probe="nvml"\\}') == 1), 'a driver that hangs is told within its deadline')
verdict = run('check', '--spool', a.spool)
check(verdict.returncode == 6 and 'nvml does not answer' in verdict.stdout, 'muster check names it, exit code 6', verdict.stdout)
check(a.metric('DCGM_FI_DEV_GPU_TEMP') is None, 'old values do not pass for new ones')
began = time.monotonic()
a.write(fault(7))
check(until(lambda: controller.findings('hearsay'), 5), 'and the kernel log is followed all the same')
print(f'    line to finding with a hung driver: {1000 * (time.monotonic() - began):.0f} ms, asked every 20 ms', flush=True)
os.remove(hang)
check(until(lambda: a.metric('DCGM_FI_DEV_GPU_TEMP') == 41, 30), 'when the driver answers again, so does the agent')
a.kill()

# ---- a file system that stops answering
stall = Stall(os.path.join(DIR, 'stall'))
if stall.mount():
    m = Agent(controller, 5, more=['--deadline', '1s', '--job-log', os.path.join(stall.folder, 'slurm-%j.out')])
    m.start()
    probe = 'mount ' + stall.folder
    check(until(lambda: m.metric(f'muster_probe_hung\\{{probe="{probe}"\\}}') == 0),
          'a shared mount is found without being named')
    stall.stalled.set()
    began = time.monotonic()
    found = until(lambda: controller.findings('mount_stalled'), 30)
    check(found and stall.folder in str(found) + run('check', '--spool', m.spool).stdout,
          f'when it stalls (FUSE: this kernel has no NFS client) that is a finding {time.monotonic() - began:.1f} s later', found)
    stalled = until(lambda: len(controller.findings('mount_stalled')) == 2 and controller.findings('mount_stalled'), 30) or []
    check({f['subject'] for f in stalled} == {probe, 'job logs'}, 'and the logs of jobs on it are another', stalled)
    verdict = run('check', '--spool', m.spool)
    check(verdict.returncode == 6 and f'{probe} does not answer' in verdict.stdout, 'muster check names it', verdict.stdout)
    began = time.monotonic()
    m.write(fault(9))
    check(until(lambda: [f for f in controller.findings('hearsay') if f['node'] == m.name], 5),
          f'and nothing else hangs: a kernel line is a finding {1000 * (time.monotonic() - began):.0f} ms later',
          controller.findings('hearsay'))
    check(m.metric('DCGM_FI_DEV_GPU_TEMP') == 41, 'and the GPUs are read')
    stall.resume()
    check(until(lambda: not controller.findings('mount_stalled'), 40), 'when it answers again both are cleared',
          controller.findings('mount_stalled'))
    m.kill()
    stall.unmount()
else:
    print('skip - a stalled mount: /dev/fuse cannot be used here', flush=True)

# ---- clocks that jump, of the agent's machine: hours ahead, then days back
offset = os.path.join(DIR, 'offset')
with open(offset, 'w') as f:
    f.write('0')
j = Agent(controller, 6, env={'LD_PRELOAD': os.path.abspath(sys.argv[3]), 'FAKE_CLOCK': offset})
j.start()
until(lambda: j.metric('muster_agent_controller_up') == 1)
ages = []
for k, jump in enumerate((0, 36000, -400000, 86400 * 365)):
    with open(offset, 'w') as f:
        f.write(str(jump))
    wrote = time.time()
    j.write(fault(60000 + k))
    event = until(lambda: [e for e in controller.events('kernel_heard') if f'n={60000 + k}.' in e['body']['record']['text']], 10)
    ages.append(abs(event[0]['body']['record']['at'] / 1e9 - wrote) if event else 1e9)
check(max(ages) < 2, f'clocks that jump by hours, days and a year change nothing: times are right to {max(ages):.2f} s', ages)
with open(offset, 'w') as f:
    f.write('0')

# ---- a controller that is away: how often it is asked for
controller.stop()
door = socket.socket()
door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
door.bind(('127.0.0.1', controller.port))
door.listen(64)
knocks = []


def answer_the_door():
    while True:
        try:
            guest, _ = door.accept()
        except OSError:
            return
        knocks.append(time.monotonic())
        guest.close()


threading.Thread(target=answer_the_door, daemon=True).start()
for k in range(100):  # news every fifth of a second must not make it ask more often
    j.write(fault(61000 + k))
    time.sleep(0.2)
gaps = [round(b - a, 2) for a, b in zip(knocks, knocks[1:])]
check(4 <= len(knocks) <= 20 and max(gaps, default=0) > 2,
      f'an agent asks for its controller less and less often: {len(knocks)} times in 20 s, pauses of {gaps[:3]} to {gaps[-3:]} s',
      gaps)
door.close()
controller.start()
check(until(lambda: j.metric('muster_agent_spool_bytes') == 0 and j.metric('muster_agent_controller_up') == 1, 30),
      'and finds it again within seconds')
check(len(set(range(61000, 61100)) - set(numbers(controller.events('kernel_heard')))) == 0, 'with all that happened')
j.kill()

# ---- a controller that is away for long
b = Agent(controller, 2)
b.start()
until(lambda: b.metric('muster_agent_controller_up') == 1)
controller.kill()
# An hour with a fault every second, on a node where everything breaks: 3,600 records of 192 kinds, faster than an hour.
HOUR = 3600
for n in range(HOUR):
    b.write(fault(n))
    if n % 190 == 189:
        time.sleep(0.25)
check(until(lambda: (b.metric('muster_agent_kernel_faults_total') or 0) == HOUR), 'an hour\'s worth of faults is read')
waits = b.metric('muster_agent_spool_bytes')
check(waits > HOUR * 80,
      f'what happens while the controller is away waits on disk: {waits / 1e6:.2f} MB, {b.rss_mb():.1f} MB resident')
b.kill()
b.start()
check(b.metric('muster_agent_spool_bytes') >= waits, 'and outlives a killed agent')
controller.start()
began = time.monotonic()
check(until(lambda: b.metric('muster_agent_spool_bytes') == 0, 60),
      f'it reaches the controller when both are back, in {time.monotonic() - began:.1f} s')
came = [n for n in numbers([e for e in controller.events('kernel_heard') if e['source']['stream'] == 'agent/node0002/kernel'])]
told = sum(e['body']['count'] for e in controller.events('agent_said')
           if e['body']['word'] == 'dropped' and e['source']['stream'] == 'agent/node0002')
check(len(came) == len(set(came)) and len(came) + told == HOUR,
      f'none lost, none twice: {len(came)} came, {told} told as held back')
b.kill()

# ---- a hole in the kernel's numbers
c = Agent(controller, 3)
c.start()
c.write('6,10,1,-;a\n6,11,1,-;b\n6,50,1,-;c\n')
gaps = until(lambda: [e for e in controller.events('agent_said')
                      if e['body']['word'] == 'kernel_gap' and e['source']['stream'] == 'agent/node0003'])
check(gaps and gaps[0]['body']['count'] == 38, 'a hole in the kernel\'s numbers is itself an event', gaps)

# ---- a flood: 100,000 lines a second, some of which mean something
line = '6,{0},{0},-;' + 'audit: type=1400 something that nobody needs to know about {0}\n'
total, seconds = 0, 5
sizes = []
began = time.monotonic()
for second in range(seconds):
    for piece in range(20):
        c.write(''.join(line.format(k) for k in range(total, total + 4990)) +
                ''.join(fault(total + k) for k in range(5)) +
                ''.join(fault(192 * (total + k)) for k in range(5)))
        total += 5000
        sizes.append(c.rss_mb())
    time.sleep(max(0, began + second + 1 - time.monotonic()))
flooded = time.monotonic() - began
check(until(lambda: sizes.append(c.rss_mb()) or c.metric('muster_agent_kernel_records_total') == total + 3, 60),
      f'a flood of {total / flooded:,.0f} lines a second is read to its end, {time.monotonic() - began - flooded:.1f} s after it',
      (c.metric('muster_agent_kernel_records_total'), total))
check(max(sizes) < 64, f'with {max(sizes):.1f} MB resident at most', max(sizes))
faults = int(c.metric('muster_agent_kernel_faults_total'))
check(faults == seconds * 20 * 10, f'every record that means something was understood: {faults}')
until(lambda: c.metric('muster_agent_spool_bytes') == 0, 30)
time.sleep(2.5)
said = [e['body'] for e in controller.events('agent_said') if e['source']['stream'] == 'agent/node0003']
told = sum(s['count'] for s in said if s['word'] == 'dropped')
came = len([e for e in controller.events('kernel_heard') if e['source']['stream'] == 'agent/node0003/kernel'])
check(came + told == faults, f'what was dropped is what it says it dropped: {came} sent + {told} told of = {faults}', said[-5:])
c.kill()

# ---- a disk that is full
small = os.path.join(DIR, 'small')
os.mkdir(small)
if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=128k', 'tmpfs', small], capture_output=True).returncode == 0:
    d = Agent(controller, 4, spool=os.path.join(small, 'spool'))
    d.start()
    until(lambda: d.metric('muster_agent_controller_up') == 1)
    controller.kill()
    filler = os.open(os.path.join(small, 'filler'), os.O_WRONLY | os.O_CREAT)
    try:
        while os.write(filler, b'x' * 4096):
            pass
    except OSError:
        os.close(filler)
    count = 0
    for _ in range(40):
        d.write(''.join(fault(count + k, 'x' * 400) for k in range(190)))
        count += 190
        time.sleep(0.1)
    until(lambda: d.metric('muster_agent_kernel_faults_total') == count)
    dropped, held = int(d.metric('muster_agent_dropped_total')), int(d.metric('muster_agent_held_back_total'))
    check(dropped > 0, f'with a full disk and no controller, what does not fit in memory is counted: {dropped} of {count}')
    check(d.rss_mb() < 64, f'and memory stays small: {d.rss_mb():.1f} MB')
    os.remove(os.path.join(small, 'filler'))
    controller.start()
    until(lambda: d.metric('muster_agent_spool_bytes') == 0 and d.metric('muster_agent_controller_up') == 1, 30)
    time.sleep(2.5)
    said = [e['body'] for e in controller.events('agent_said') if e['source']['stream'] == 'agent/node0004']
    told = sum(s['count'] for s in said if s['word'] == 'dropped')
    came = len([e for e in controller.events('kernel_heard') if e['source']['stream'] == 'agent/node0004/kernel'])
    check(came + told == count, f'with room and a controller again, all is accounted for: {came} came + {told} told of = {count}',
          said[-5:])
    d.kill()
else:
    print('skip - a full disk: mounting a small one needs root', flush=True)
controller.stop()
finish()
