#!/usr/bin/env python3
"""A rolling upgrade asked for, watched, stopped and taken back on a running demo; and the bench of it."""
import json

from checks import STATE, check, environment, finish, run
from upgrading import Demo

env = environment()
state = f'{STATE}/upgrade.state'
demo = Demo(state)
ask, status, wait = demo.ask, demo.status, demo.wait


try:
    check(wait(lambda: ask('get', 'nodes').code == 0), 'the demo runs')
    ran = ask('upgrade', 'status')
    check(ran.code == 0 and 'no upgrade' in ran.out, 'none has been asked for', ran)
    ran = ask('upgrade', 'stop')
    check(ran.code != 0 and 'no upgrade' in ran.err, 'there is nothing to stop', ran)
    ran = ask('upgrade', 'start', 'driver', '590.44.01', '--yes')
    check(ran.code == 2 and '--before' in ran.err, 'nobody knows what to go back to: it must be said', ran)
    ran = ask('upgrade', 'start', 'driver', '590.44.01', '--before', '580.159.04')
    check(ran.code != 0 and '--yes' in ran.err, 'it asks first', ran)
    ran = ask('upgrade', 'start', 'drivers', '590.44.01', '--before', '580.159.04', '--yes')
    check(ran.code == 2 and 'driver, firmware, os' in ran.err and 'did you mean driver?' in ran.err, 'what there is', ran)
    ran = ask('upgrade', 'start', 'driver', '590.44.01', '--before', '580.159.04', '--nodes', 'nope[1-3]', '--yes')
    check(ran.code == 3 and 'nope1' in ran.err, 'an unknown node: exit 3', ran)
    ran = ask('upgrade', 'start', 'driver', '590; rm -rf /', '--before', '580.159.04', '--yes')
    check(ran.code == 2 and 'no version' in ran.err, 'a version is a word', ran)
    ran = ask('upgrade', 'start', 'driver', '590.44.01', '--before', '580.159.04', '--canaries', '1', '--watch', '10m',
              '--at-once', '25', '--yes')
    check(ran.code == 0 and 'begun' in ran.out, 'begun', ran)
    ran = ask('upgrade', 'start', 'driver', '591.1', '--before', '580.159.04', '--yes')
    check(ran.code != 0 and 'at work' in ran.err, 'one at a time', ran)
    check(wait(lambda: status().get('installed', 0) >= 1), 'the canary has it', status())
    words = ask('upgrade', 'status').out
    check('driver 590.44.01' in words and 'canaries' in words and 'phase' in words, 'status in words', words)
    acts = json.loads(ask('get', 'actions', '-o', 'json').out)['items']
    check(any(a.get('verb') == 'install' for a in acts), 'the installation is on the list of acts')
    check(wait(lambda: status().get('phase') == 'waves' and status().get('installed', 0) >= 2), 'the rest follows', status())
    ran = ask('upgrade', 'rollback', '--reason', 'jobs are slower')
    check(ran.code == 0 and 'taken back' in ran.out, 'rollback', ran)
    check(wait(lambda: status().get('phase') == 'rolled_back', 150), 'everything is back as it was', status())
    s = status()
    check(s['installed'] == 0 and 'jobs are slower' in s['why'], 'and it says why', s)
    ran = ask('upgrade', 'rollback')
    check(ran.code != 0 and 'rolled_back already' in ran.err, 'not twice', ran)
finally:
    demo.end()

good = run('bench', 'upgrade', '--gpus', '512', '--seeds', '2', '--at-once', '8', '-o', 'json', env=env)
r = json.loads(good.out)
check(all(x['phase'] == 'done' and x['nodes'] == 64 and x['violations'] == 0 for x in r['runs']), 'a busy cluster is upgraded', r)
bad = run('bench', 'upgrade', '--gpus', '512', '--seeds', '2', '--bad', '-o', 'json', env=env)
r = json.loads(bad.out)
check(bad.code == 0 and all(x['phase'] == 'rolled_back' and x['reached'] <= 3 and x['nodes'] == 0 for x in r['runs']),
      'a bad version is stopped at the canaries', r)
finish()
