#!/usr/bin/env python3
"""What a large network costs: 65,536 cards designed with all files and validated from files in under 20 s and 4 GB; 4,096 cards
validated in under 2 s (with forwarding tables: tests/live/fabric/designs.py). Printed beside a tenth of each: how it grows."""
import os
import re
import resource
import subprocess

from checks import MUSTER, STATE, check, environment, finish


def spent(*words):
    """Processor seconds and megabytes of one command, with its exit code and what it printed."""
    child = subprocess.Popen([MUSTER, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment(), text=True)
    out = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, os.waitstatus_to_exitcode(status), out


def cut(net, path):
    """The network without the cable in the middle of those between switches; its two ends."""
    with open(net) as f:
        lines = f.read().split('\n')
    names, here, cables = {}, None, []
    for line in lines:
        head = re.match(r'(?:Switch|Ca)\s+\d+ "([^"]+)"\s+# "([^"]+)"', line)
        if head:
            here = head[1]
            names[here] = head[2]
        port = re.match(r'\[(\d+)\]\s+"(S-\w+)"\[(\d+)\]', line)
        if port and here.startswith('S-'):
            cables.append(((here, port[1]), (port[2], port[3])))
    gone = cables[len(cables) // 2]
    with open(path, 'w') as f:
        for line in lines:
            head = re.match(r'(?:Switch|Ca)\s+\d+ "([^"]+)"', line)
            here = head[1] if head else here
            port = re.match(r'\[(\d+)\]', line)
            if not (port and (here, port[1]) in gone):
                f.write(line + '\n')
    return {f'{names[node]}[{port}]' for node, port in gone}


def measured(nodes, seconds, megabytes, whole):
    """A network of so many nodes with eight cards; with `whole` the design counts too."""
    folder = f'{STATE}/{nodes}'
    cards = nodes * 8
    asked = ['--nodes', str(nodes), '--nics', '8', '--radix', '64', '--levels', '3']
    design_s, design_mb, code, _ = spent('fabric', 'design', *asked, folder)
    check(code == 0, f'{cards} cards: designed')
    ends = cut(f'{folder}/expected_ibnetdiscover.txt', f'{folder}/found.txt')
    took_s, took_mb, code, out = spent('fabric', 'validate', '--design', f'{folder}/fabric.net', '--discovered',
                                       f'{folder}/found.txt', '-o', 'json')
    check(code == 6 and all(e in out for e in ends), f'{cards} cards: the cable that was cut is named by both ends', out[:500])
    print(f'# {cards} cards: design {design_s:.2f} CPU-s {design_mb:.0f} MB, validate {took_s:.2f} CPU-s {took_mb:.0f} MB')
    total, most = took_s + (design_s if whole else 0), max(took_mb, design_mb if whole else 0)
    if seconds:
        check(total < seconds and most < megabytes, f'{cards} cards: in under {seconds} s and {megabytes} MB', (total, most))
    for name in os.listdir(folder):
        os.unlink(f'{folder}/{name}')


resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
measured(512, 2, 4096, whole=False)
measured(819, 0, 0, whole=True)
measured(8192, 20, 4096, whole=True)
finish()
