#!/usr/bin/env python3
"""Completion scripts: sound for their shell, in step with the parser, and safe with hostile names."""
import os
import shutil
import subprocess

from checks import MUSTER, STATE, check, environment, finish, run

scripts = {}
for shell in ('bash', 'zsh', 'fish'):
    scripts[shell] = f'{STATE}/muster.{shell}'
    ran = run('completion', shell)
    with open(scripts[shell], 'w') as f:
        f.write(ran.out)
    check(ran.code == 0 and 'inject' in ran.out and 'gpu_off_bus' in ran.out and 'first-seed' in ran.out,
          f'{shell}: made from the parser\'s tables')
    program = shutil.which(shell)
    if program is None:
        print(f'skip - {shell} reads its script: {shell} is not installed')
        continue
    done = subprocess.run([program, '-n', scripts[shell]], capture_output=True)
    check(done.returncode == 0, f'{shell} reads its script', done.stderr)


def complete(*words):
    names = ' '.join("'" + w + "'" for w in words)
    script = (f'source {scripts["bash"]}; COMP_WORDS=({names}); COMP_CWORD={len(words) - 1}; _muster; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    # A `muster` that knows three nodes, one of them hostile.
    env = environment(PATH=f'{STATE}/bin:' + os.environ['PATH'])
    return subprocess.run(['bash', '-c', script], capture_output=True, text=True, env=env, cwd=STATE).stdout.split()


os.makedirs(f'{STATE}/bin')
with open(f'{STATE}/bin/muster', 'w') as f:
    f.write('#!/bin/sh\nprintf \'node001\\nnode002\\n$(touch %s/harmed)\\n`touch %s/harmed`\\n\' "$HOME" "$HOME"\n')
os.chmod(f'{STATE}/bin/muster', 0o755)
check(complete('muster', 'de') == ['demo', 'design', 'describe'], 'commands', complete('muster', 'de'))
check(complete('muster', 'get', 'inc') == ['incidents', 'incident'], 'nouns')
check(complete('muster', 'get', 'nodes', '-o', 'js') == ['json', 'jsonl'], 'formats')
check(complete('muster', 'twin', 'run', '--we') == ['--weather'], 'flags')
check(complete('muster', 'twin', 'run', '--seed', '') == [], 'nothing where a number stands')
check(complete('muster', 'why', '--out') == ['--output'], 'aliases')
check(complete('muster', 'drain', 'node') == ['node001', 'node002'], 'names of nodes', complete('muster', 'drain', 'node'))
check(not os.path.exists(f'{STATE}/harmed'), 'a hostile name is not run')
check('bash' in complete('muster', 'completion', ''), 'shells')
finish()
