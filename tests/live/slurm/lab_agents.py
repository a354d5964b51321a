"""What happens on the lab's nodes besides Slurm: a `muster agent` each, faults, and a site's programs for Muster's hands."""
import json
import os
import shutil
import subprocess
import time

import lab_config
from lab import HERE, Failed, Unavailable, listening, make_device, read, until

FAKE_NVML = os.path.normpath(os.path.join(HERE, '../agent/fake_nvml.c'))
# From the mildest: a GPU that was lost with `cure` comes back by that verb and by every later one.
CURES = ('reset_gpu', 'reload_driver', 'reboot_node', 'power_cycle_node', 'replace_node')
VERBS = CURES + ('test_node', 'probe_node')

TEXTS = {
    13: 'pid={pid}, name=python3, Graphics Exception: ESR 0x519730=0xc00000b 0x519734=0x4 0x519728=0x1f81fb60 0x51972c=0x1174',
    31: 'pid={pid}, name=python3, channel 0x0000000a, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC1 GPCCLIENT_T1_8 faulted @ '
        '0x0_00000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ',
    43: 'pid={pid}, name=python3, Ch 00000010',
    48: 'pid={pid}, name=python3, DBE (double bit error) ECC error',
    63: 'pid={pid}, name=python3, Row Remapper: New row marked for remapping, reset gpu to activate.',
    74: 'pid={pid}, name=python3, NVLink: fatal error detected on link 4(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)',
    79: "pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
    94: 'pid={pid}, name=python3, Contained: SM (0x1). RST: No, D-RST: No',
    95: 'pid={pid}, Uncontained: LTC TAG (0x2, 0x1). RST: Yes, D-RST: No',
    119: 'pid={pid}, name=python3, '
         'Timeout after 6s of waiting for RPC response from GPU0 GSP! Expected function 76 (GSP_RM_CONTROL)',
}


def devices(lab, node):
    """[True, True, False, ...]: whether the device file of each slot is there."""
    return [os.path.exists(f'{lab.node_dir(node)}/dev/gpu{k}') for k in range(lab.about['gpus'])]


def pci_bus(slot):
    """The same addresses that fake_nvml.c gives to its GPUs."""
    return f'{0x1b + 16 * slot:02x}'


# Agents

def library(lab):
    path = f'{lab.dir}/etc/libfake_nvml.so'
    if not os.path.exists(path):
        compiler = next((c for c in ('cc', 'gcc', 'clang') if shutil.which(c)), None)
        if not compiler:
            raise Unavailable('no C compiler for the fake NVML: apt-get install gcc')
        subprocess.run([compiler, '-shared', '-fPIC', '-O1', '-o', path + '.new', FAKE_NVML], check=True)
        os.replace(path + '.new', path)
    return path


def start_agents(lab, controller, token_file, flags=(), binary=None, seconds=30):
    """One for each node. `flags` are given to every agent as they are."""
    binary = binary or os.environ.get('MUSTER_BIN', '')
    if not os.access(binary, os.X_OK):
        raise Failed('MUSTER_BIN must name the muster binary')
    about = {'binary': os.path.abspath(binary), 'controller': controller, 'token_file': os.path.abspath(token_file),
             'flags': list(flags), 'nvml': library(lab)}
    lab_config.write(f'{lab.dir}/agents.json', json.dumps(about, indent=1) + '\n')
    for node in lab.nodes:
        start_agent(lab, node)
    late = [n for n in lab.nodes if not until(lambda n=n: agent_port(lab, n) or not lab.pid('agent', n), seconds)]
    dead = [n for n in lab.nodes if not lab.pid('agent', n)]
    if late or dead:
        raise Failed(f'agents of {", ".join((dead or late)[:5])} did not start: see {lab.node_dir((dead or late)[0])}/agent.log')


def start_agent(lab, node):
    about = json.loads(read(f'{lab.dir}/agents.json') or 'null')
    if about is None:
        raise Failed(f'this lab has no agents: lab agents {lab.dir} --controller URL --token-file FILE starts them')
    if lab.pid('agent', node):
        return
    home = lab.node_dir(node)
    lab.launch(f'agent.{node}', about['binary'], 'agent', '--kmsg', f'{home}/kmsg', '--controller', about['controller'],
               '--token-file', about['token_file'], '--node', node, '--spool', f'{home}/agent', '--listen', '127.0.0.1:0',
               '--nvml', about['nvml'], '--job-socket', f'{home}/jobs.sock', *about['flags'],
               env={'FAKE_NVML_NODE': node, 'FAKE_NVML_DEV': f'{home}/dev', 'FAKE_NVML_HANG': f'{home}/hang'},
               log=f'{home}/agent.log')


def agent_port(lab, node):
    """The port of an agent's page, chosen by the kernel: read from the sockets that its process listens on."""
    pid = lab.pid('agent', node)
    return next((port for _, port in listening(pid)), 0) if pid else 0


# Faults

def xid(lab, node, code, slot=0, lose=False, cure='reset_gpu', pid=4711):
    """A line of the driver in the node's kernel log; with `lose` the GPU is gone before it, for Slurm and for NVML."""
    if not 0 <= slot < lab.about['gpus']:
        raise Failed(f'no slot {slot}: a node has slots 0 to {lab.about["gpus"] - 1}')
    if lose:
        lose_gpu(lab, node, slot, cure)
    path = f'{lab.node_dir(node)}/kmsg'
    text = TEXTS.get(code, 'pid={pid}, name=python3, Ch 00000010').format(pid=pid)
    with open(path, 'a') as f:
        head = f'3,{os.path.getsize(path)},{time.monotonic_ns() // 1000},-'
        f.write(f'{head};NVRM: Xid (PCI:0000:{pci_bus(slot)}:00): {code}, {text}\n')


def lose_gpu(lab, node, slot, cure='reset_gpu'):
    if cure not in CURES:
        raise Failed(f'no cure {cure}: one of {", ".join(CURES)}')
    lab_config.write(f'{lab.node_dir(node)}/lost/gpu{slot}', cure + '\n')
    try:
        os.unlink(f'{lab.node_dir(node)}/dev/gpu{slot}')
    except FileNotFoundError:
        pass


def hang(lab, node, yes=True):
    """NVML does not come back on that node while this holds: a driver that hangs."""
    path = f'{lab.node_dir(node)}/hang'
    if yes:
        open(path, 'w').close()
    elif os.path.exists(path):
        os.unlink(path)


# The site's programs

def set_hooks(lab, program, conf=None):
    """Prolog and Epilog of all nodes; None: none. `conf` is what muster-hook.conf beside the hook says."""
    text = read(lab.conf)
    lines = [line for line in text.splitlines() if not line.startswith(('Prolog=', 'Epilog='))]
    if program:
        lines += [f'Prolog={program}', f'Epilog={program}']
    if conf is not None:
        lab_config.write(f'{lab.dir}/etc/muster-hook.conf', conf)
    lab_config.write(lab.conf, '\n'.join(lines) + '\n')
    lab.out('scontrol', 'reconfigure')
    # Every slurmd has read it when it has answered again.
    time.sleep(1 + 0.02 * len(lab.nodes))


def restore(lab, node, verb, slot=None):
    """Brings back what the verb can bring back; the slots that stay lost."""
    home, left = lab.node_dir(node), []
    for k in range(lab.about['gpus']):
        cure = read(f'{home}/lost/gpu{k}').strip()
        if (slot is not None and k != slot) or os.path.exists(f'{home}/dev/gpu{k}'):
            continue
        if cure and CURES.index(cure) > CURES.index(verb):
            left.append(k)
            continue
        make_device(f'{home}/dev/gpu{k}')
        if cure:
            os.unlink(f'{home}/lost/gpu{k}')
    return left


def reboot(lab, node, verb):
    """slurmd and the agent end, the devices come back, both start again. A slurmd that misses a device would not come up in
    22.05, so it stays away then, as a node does that hangs in its firmware."""
    had_agent = os.path.exists(f'{lab.dir}/agents.json')
    for what in ('agent', 'slurmd'):
        if lab.pid(what, node):
            lab.kill(what, node)
    for pid in node_steps(lab, node):
        os.kill(pid, 9)
    time.sleep(lab.about['reboot_s'] * (3 if verb == 'replace_node' else 1))
    left = restore(lab, node, verb)
    if not left:
        lab.start_slurmd(node, booted=True)
    if had_agent:
        start_agent(lab, node)
    return left


def node_steps(lab, node):
    """What jobs run on that node: a node that reboots keeps none of it."""
    home, found = lab.node_dir(node) + '/', []
    for pid in lab.step_processes():
        try:
            links = [os.readlink(f'/proc/{pid}/fd/{fd}') for fd in os.listdir(f'/proc/{pid}/fd')]
        except OSError:
            continue
        if any(home in link for link in links):
            found.append(pid)
    return found


def hand(lab, verb, node, slot=None):
    """(exit status, one line) of a program as a site names it for Muster."""
    if verb not in VERBS:
        return 1, f'no verb {verb}: one of {", ".join(VERBS)}'
    lab.node_dir(node)
    if verb == 'probe_node':  # that it answers is all it says: what is wrong there its agent tells
        return (0, f'{node} answers') if lab.pid('slurmd', node) else (1, f'{node}: slurmd does not run')
    if verb == 'test_node':
        missing = [k for k, there in enumerate(devices(lab, node)) if not there]
        up = 'slurmd runs' if lab.pid('slurmd', node) else 'slurmd does not run'
        if missing:
            return 1, f'{node}: GPU {", ".join(map(str, missing))} missing of {lab.about["gpus"]}; {up}'
        return 0, f'{node}: {lab.about["gpus"]} GPUs present; {up}'
    if verb in ('reset_gpu', 'reload_driver'):
        left = restore(lab, node, verb, slot if verb == 'reset_gpu' else None)
    else:
        left = reboot(lab, node, verb)
    if left:
        return 1, f'{node}: GPU {", ".join(map(str, left))} still missing after {verb}'
    return 0, f'{node}: {verb} done'
