"""lab_up.py MUSTER up --slurm-lab [N]: a real Slurm of N nodes on this machine, with Muster in charge of it, until Ctrl-C. What
`./run up --slurm-lab 16` calls."""
import argparse
import os
import re
import signal
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lab_agents  # noqa: E402
from controller import Controller  # noqa: E402
from lab import HERE, Failed, Lab, Unavailable, read  # noqa: E402

NEXT = '''
{nodes} nodes of a real Slurm {version}, {gpus} GPUs each, {leaf} nodes a leaf. Muster is in charge of it.
page       {page}

In another terminal{root}:

    . {dir}/env               # sinfo, squeue, sbatch and muster speak to this lab
    sinfo
    sbatch -N4 --gpus-per-node=8 --output=/dev/null --wrap 'sleep 60'
    squeue -o '%.6i %.9T %.20N %r'
    muster explain job 1                          # which nodes it got, and why those
    muster drain {node} --yes --reason 'loud fan'; sleep 2; sinfo -R
    muster undrain {node}; muster why {node}
    muster pause                                  # Slurm schedules by itself; `muster resume` takes over again
    {lab} xid {dir} {node} 79 --lose             # a GPU falls off the bus: drained, reset, tested, back
    muster get incidents; muster why {node}       # what was done about it, and why

Ctrl-C ends Muster and the lab; nothing is left behind.
'''


def arguments():
    p = argparse.ArgumentParser(prog='./run', usage='./run up --slurm-lab [N] [--port N] [--policy NAME|FILE] [--no-agents]',
                                description='A real Slurm of N nodes on this machine, with Muster in charge of it, until Ctrl-C.')
    p.add_argument('command', choices=['up'])
    p.add_argument('--slurm-lab', type=int, nargs='?', const=16, metavar='N', required=True, help='nodes [16]')
    p.add_argument('--port', type=int, default=7070, metavar='N', help="of Muster's page; 0 for any free one [7070]")
    p.add_argument('--policy', default='default', metavar='NAME|FILE', help='what Muster may do [default]')
    p.add_argument('--no-agents', action='store_true', help='no agents on the nodes: faults are not seen')
    return p.parse_args(sys.argv[2:])


def say(text):
    print(text, file=sys.stderr, flush=True)


def put_into_env(lab, controller):
    """The commands of a second terminal: this Muster's, and Slurm's."""
    with open(f'{lab.dir}/env', 'a') as f:
        f.write(f'export MUSTER_STATE={controller.state}\nexport PATH="{os.path.dirname(controller.muster)}:$PATH"\n')


def show(lab, controller, page):
    version = lab.out('scontrol', '--version').split()[-1]
    say(NEXT.format(nodes=len(lab.nodes), version=version, gpus=lab.about['gpus'], leaf=lab.about['leaf'], page=page, dir=lab.dir,
                    lab=os.path.relpath(f'{HERE}/lab') if HERE.startswith(os.getcwd()) else f'{HERE}/lab',
                    node=lab.nodes[min(2, len(lab.nodes) - 1)], root=' (as root)' if 'SUDO_USER' in os.environ else ''))


def serve(a, muster, lab):
    controller = Controller(muster, lab, policy=a.policy, port=a.port)
    try:
        controller.start()
        page = re.findall(r'^page\s+(\S+)', controller.said(), re.M)[-1]
        if not a.no_agents:
            lab_agents.start_agents(lab, page.rstrip('/'), f'{controller.state}/agent-token', ['--trust-kmsg'],
                                    binary=muster)
        put_into_env(lab, controller)
        show(lab, controller, page)
        while controller.child.poll() is None:
            time.sleep(0.5)
        raise Failed(f'muster up ended ({controller.child.returncode}): {controller.said()}')
    finally:
        say('ending Muster, then the lab')
        controller.stop()


def main():
    a, muster = arguments(), os.path.abspath(sys.argv[1])
    for which in (signal.SIGINT, signal.SIGTERM):  # also where a shell started it in the background, with SIGINT ignored
        signal.signal(which, signal.default_int_handler)
    lab = None
    try:
        lab = Lab.start(nodes=a.slurm_lab, leaf=max(2, min(16, a.slurm_lab // 4)), place=('batch',), say=say)
        serve(a, muster, lab)
    except Unavailable as e:
        say(f'no Slurm lab here: {e}')
        return 77
    except (Failed, RuntimeError) as e:
        say(f'error: {e}')
        return 1
    except KeyboardInterrupt:
        return 0
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not leave half of it running
        if lab:
            lab.down()
    return 0


if __name__ == '__main__':
    sys.exit(main())
