#!/usr/bin/env python3
"""Every command has help: what it is, its flags, an example; on stdout, with exit code 0, no wider than a screen."""
import re

from checks import check, finish, run


def commands_in(text):
    """Names in the lists of commands: lines of two blanks, a word and an explanation, outside options and examples."""
    names, inside = [], False
    for line in text.splitlines():
        if line.endswith(':') and not line.startswith(' '):
            inside = line not in ('Options:', 'Arguments:', 'Examples:', 'Connection:')
        elif inside and (found := re.match(r'^  ([a-z]+)[, ]', line)):
            names.append(found[1])
    return names


def walk(path):
    ran = run(*path, '--help')
    name = ' '.join(['muster', *path])
    usage = re.search(r'^Usage: ' + re.escape(name) + r'\b', ran.out, re.M)
    leaf = not commands_in(ran.out)
    check(ran.code == 0 and usage and not ran.err and (not leaf or 'Examples:' in ran.out or name.endswith('version')) and
          all(len(line) <= 120 for line in ran.out.splitlines()), f'{name} --help says what it is and how it is used', ran)
    found = [name]
    for sub in commands_in(ran.out):
        found += walk([*path, sub])
    return found


found = walk([])
wanted = ('demo up pause resume describe explain drain undrain submit cancel login version completion').split()
wanted += ['get ' + n for n in 'nodes gpus jobs findings incidents actions'.split()]
wanted += ['twin ' + n for n in 'run replay soak compare serve inject'.split()]
wanted += ['journal verify', 'journal export', 'shadow report']
missing = [w for w in wanted if 'muster ' + w not in found]
check(not missing, 'every command is found from `muster --help`', missing)

top = run()
check(top.code == 0 and 'Exit codes: 0 ok' in top.out, '`muster` alone prints the help', top)
check(run('help', 'get', 'nodes').out == run('get', 'nodes', '--help').out != '',
      '`muster help get nodes` is `muster get nodes --help`')
check(run('why', '--help').out == run('explain', '--help').out != '', '`muster why` is `muster explain`')
check(run('version').out == run('--version').out and re.fullmatch(r'muster \d+\.\d+\.\d+\n', run('version').out),
      '`muster version` is one line')
check(re.fullmatch(r'\{"name":"muster","version":"\d+\.\d+\.\d+".*\}\n', run('version', '-o', 'json').out),
      '`muster version -o json` is JSON')
finish()
