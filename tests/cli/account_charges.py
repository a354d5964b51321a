#!/usr/bin/env python3
"""muster account charge and quota, and the account of a journal: amounts to the millionth, once and never again, a ledger that
nobody can change unseen, what is left of grants, prices that stay, sums that are exact, and what is wrong to ask for."""
import fcntl
import json
import os
import subprocess
import time

from checks import MUSTER, STATE, check, environment, finish, run

HEADER = 'JobID|User|Account|Partition|State|Submit|Start|End|NNodes|NodeList|AllocTRES'
BEGIN = 1767225600  # 2026-01-01T00:00:00Z


def job(number, account, start_h, end_h, gpus, state='COMPLETED', kind='h200', user='ada', partition='gpu'):
    end = 'Unknown' if end_h is None else str(BEGIN + int(end_h * 3600))
    tres = f'billing=8,cpu=8,gres/gpu:{kind}={gpus},gres/gpu={gpus},node=1'
    return f'{number}|{user}|{account}|{partition}|{state}|{BEGIN}|{BEGIN + int(start_h * 3600)}|{end}|1|gpu001|{tres}'


def write(name, text):
    path = f'{STATE}/{name}'
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)
    return path


def sacct(name, *rows):
    return write(name, '\n'.join([HEADER, *rows]) + '\n')


RATES = 'id,valid_from,gpu_type,account,price_per_gpu_hour,discount_pct,currency\n'
LEDGER = STATE + '/ledger.jsonl'


def charge(*args, ledger=LEDGER):
    done = run('account', 'charge', '--ledger', ledger, '-o', 'json', *args)
    return done, json.loads(done.out) if done.out else None


def charging():
    rates = write('rates.csv', RATES + 'all,2026-01-01,,,2.5,,USD\nnew,2026-01-01T10:00Z,h200,,3.000001,,USD\n'
                  'off,2026-01-01,,bio,,10,\n')
    jobs = sacct('jobs.txt', job(1, 'phys', 0, 20, 8), job(2, 'bio', 0, 4, 2), job(3, 'phys', 5, None, 8, state='RUNNING'))
    dry = run('account', 'charge', '--sacct', jobs, '--rates', rates, '--ledger', LEDGER, '--dry-run')
    check(dry.code == 0 and not os.path.exists(LEDGER), 'a dry run writes nothing, not even an empty ledger', dry)
    check('Would be charged: 458.00 USD' in dry.out, 'and says what would be charged', dry.out)
    done, told = charge('--sacct', jobs, '--rates', rates)
    phys = 8 * (10 * 2_500_000 + 10 * 3_000_001)
    bio = 2 * 4 * 2_500_000 * 9 // 10
    sums = {r['name']: r['amount_micro'] for r in told['rows']}
    check(done.code == 0 and sums == {'phys': phys, 'bio': bio},
          f'a rate that changes splits a run, a discount is taken off: phys {phys / 1e6} USD, bio {bio / 1e6} USD', sums)
    check([u['why'] for u in told['now']['not_charged']] == ['runs'], 'what has not ended waits', told['now'])
    with open(LEDGER, encoding='utf-8') as f:
        lines = [json.loads(line) for line in f]
    check([(x['job'], x['rate'], x['price_micro_per_gpu_hour']) for x in lines] ==
          [('1', 'all', 2_500_000), ('1', 'new', 3_000_001), ('2', 'all', 2_500_000)],
          'each charge has the rate and its price', lines)

    dearer = write('dearer.csv', RATES + 'dear,2026-01-01,,,100,,USD\n')
    done, told = charge('--sacct', jobs, '--rates', dearer)
    same = {r['name']: r['amount_micro'] for r in told['rows']} == sums
    check(done.code == 0 and told['now']['charges'] == 0 and same,
          'a later call with other rates prices nothing anew', told)
    done, told = charge('--sacct', jobs, '--rates', rates, '--until', '2026-01-01T12:00')
    check(told['now']['sums'][0]['amount_micro'] == 8 * (5 * 2_500_000 + 2 * 3_000_001),
          'a run that goes on is charged up to --until', told['now'])
    grown = sacct('grown.txt', job(1, 'phys', 0, 20, 8), job(3, 'phys', 5, 30, 8))
    done, told = charge('--sacct', grown, '--rates', dearer)
    check(told['now']['charges'] == 1 and told['now']['sums'][0]['amount_micro'] == 8 * 18 * 100_000_000,
          'and later for the rest alone, at the price of that time', told['now'])
    done, told = charge('--sacct', grown, '--rates', dearer)
    check(told['now']['charges'] == 0, 'and then no more')
    total = sum(x['amount_micro'] for x in (json.loads(line) for line in open(LEDGER, encoding='utf-8')))
    done, told = charge('--by', 'user')
    check(done.code == 0 and told['sums'][0]['amount_micro'] == total == told['rows'][0]['amount_micro'],
          f'the ledger alone sums to the same: {total / 1e6} USD', told)
    month = run('account', 'charge', '--ledger', LEDGER, '--by', 'month', '-o', 'csv')
    first, second = month.out.splitlines()[:2]
    check(first == 'month,jobs,charges,gpu_hours,amount,currency' and second.startswith('2026-01,3,'), 'as CSV too', month.out)


def not_charged():
    jobs = sacct('odd.txt', job(11, 'phys', 0, 2, 8, kind='a100'), job(12, 'phys', 0, 1, 8))
    rates = write('h200.csv', RATES + 'h,2026-01-01,h200,,1,,USD\n')
    done, told = charge('--sacct', jobs, '--rates', rates, ledger=STATE + '/odd.jsonl')
    one = told['now']['not_charged'][0]
    check(done.code == 6 and (one['why'], one['job'], one['gpu_hours']) == ('no_rate', '11', 16),
          'what has no rate is named, and the exit code is 6', done)
    text = run('account', 'charge', '--sacct', jobs, '--rates', rates, '--ledger', STATE + '/odd.jsonl').out
    check('1 piece with 16.0 GPU-hours has no rate and is not charged: job 11 (phys, gpu, a100).' in text, 'in words too', text)


def changed_ledgers():
    with open(LEDGER, encoding='utf-8') as f:
        lines = f.readlines()
    wrong = {
        'an amount is changed': [lines[0], lines[1].replace('"amount_micro":2', '"amount_micro":1', 1), *lines[2:]],
        'a line is taken out': [lines[0], *lines[2:]],
        'two lines change places': [lines[1], lines[0], *lines[2:]],
        'the first line is gone': lines[1:],
        'a line is there twice': [lines[0], *lines],
    }
    for what, now in wrong.items():
        path = write('bad.jsonl', ''.join(now))
        done = run('account', 'charge', '--ledger', path)
        check(done.code == 1 and 'bad.jsonl:' in done.err and done.out == '' and now != lines, f'refused where {what}', done)
    torn = write('torn.jsonl', ''.join(lines) + lines[0][:40])
    done, told = charge(ledger=torn)
    check(done.code == 0 and told['charges'] == len(lines) and 'not written to its end' in done.err,
          'half a line at the end was never charged', done)
    jobs = sacct('one.txt', job(99, 'phys', 0, 1, 8))
    done, told = charge('--sacct', jobs, '--rates', STATE + '/rates.csv', ledger=torn)
    with open(torn, encoding='utf-8') as f:
        again = f.readlines()
    check(done.code == 0 and again[:-1] == lines and json.loads(again[-1])['job'] == '99',
          'and the next charge stands in its place', done)
    with open(LEDGER, encoding='utf-8') as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        done = run('account', 'charge', '--sacct', jobs, '--rates', STATE + '/rates.csv', '--ledger', LEDGER)
        check(done.code == 1 and 'somebody else is writing' in done.err, 'two at a time do not write', done)


def quotas():
    # 10 GPUs of phys for 50 days, of which 24,000 GPU-hours were granted for 100 days: 12,000 are left, for 50 days.
    jobs = sacct('use.txt', job(1, 'phys', 0, 50 * 24, 10), job(2, 'bio', 43 * 24, 50 * 24, 8), job(3, 'eve', 0, 24, 1))
    grants = write('grants.csv', 'account,from,to,gpu_hours\nphys,2026-01-01,2026-04-11,24000\nbio,2026-01-01,2026-04-11,4000\n')
    done = run('account', 'quota', '--sacct', jobs, '--allocations', grants, '-o', 'json')
    told = json.loads(done.out)
    rows = {r['account']: r for r in told['rows']}
    check(done.code == 6 and told['ungranted'] == [{'account': 'eve', 'gpu_hours': 24, 'has_other_allocations': False}],
          'use that nobody granted is named', told)
    phys, bio = rows['phys'], rows['bio']
    stand = (phys['used_gpu_hours'], phys['left_gpu_hours'], phys['period_gone'], phys['standing'])
    check(stand == (12000, 12000, 0.5, 'within'), 'used, left, and how much of its time is gone', phys)
    check(phys['runs_out_first_utc'] == '2026-04-11T00:00:00Z', 'the day it runs out', phys)
    first = bio['runs_out_first_utc'].startswith('2026-03-05')
    check((bio['per_day_7d_gpu_hours'], bio['per_day_28d_gpu_hours']) == (192, 48) and first and bio['standing'] == 'may_run_out',
          'is a range from two rates', bio)
    text = run('account', 'quota', '--sacct', jobs, '--allocations', grants).out
    check('2026-03-05, or not before its end' in text and 'eve: 24.0 GPU-hours' in text, 'in words too', text)
    money = write('money.csv', 'account,from,to,money,currency\nphys,2026-01-01,2026-04-11,1000,USD\n')
    done = run('account', 'quota', '--sacct', jobs, '--allocations', money)
    check(done.code == 2 and 'sacct knows none' in done.err, 'grants of money need a ledger', done)
    done = run('account', 'quota', '--ledger', LEDGER, '--allocations', money, '-o', 'json')
    check(done.code == 6 and json.loads(done.out)['rows'][0]['standing'] == 'overspent', 'which tells what was charged', done)


def of_a_journal():
    journal = STATE + '/days.db'
    policy = write('policy.yaml', 'name: priced\ngpu_hour_price: 2.5\ncurrency: EUR\n')
    done = run('twin', 'run', '--gpus', '128', '--days', '3', '--weather', 'x2000', '--policy', policy, '--journal', journal,
               '--progress', 'never', timeout=110)
    if not check(done.code == 0, 'three days of the twin', done):
        return
    told = json.loads(run('account', '--journal', journal, '-o', 'json').out)
    classes = told['classes_milli_gpu_ms']
    check(sum(classes.values()) == told['installed_milli_gpu_ms'] and abs(told['gpu_hours'] - 128 * 72) < 1,
          'classes sum to what is installed, to the thousandth of a GPU-millisecond', told['classes_gpu_hours'])
    order = ('down drained idle_no_demand idle_fragmented held_idle starting checkpoint lost_restart stalled unseen '
             'unsettled useful').split()
    check(list(classes) == order, 'in the order of the waterfall', list(classes))
    rates = told['rates']
    check(rates['currency'] == 'EUR' and abs(rates['cost'] - 2.5 * told['gpu_hours']) < 1e-6 and
          2.5 == round(rates['owned_per_gpu_hour'], 9) <= rates['delivered_per_gpu_hour'] <= rates['allocated_per_gpu_hour'] <=
          rates['useful_per_gpu_hour'], 'four rates, each above the one before', rates)
    for by in ['account', 'partition', 'user', 'gpu_type', 'job', 'day']:
        rows = json.loads(run('account', '--journal', journal, '--by', by, '-o', 'json').out)['rows']
        hours, cost = sum(r['gpu_hours'] for r in rows), sum(r['cost'] for r in rows)
        held = abs(hours - told['gpu_hours']) < 1e-6 and abs(cost - rates['cost']) < 1e-5
        check(held, f'rows by {by} sum to all', (hours, cost))
    biggest = told['rows'][0]
    for by in ['user', 'job', 'day']:
        one = json.loads(run('account', '--journal', journal, '--by', by, '--account', biggest['name'], '-o', 'json').out)
        hours, cost = sum(r['gpu_hours'] for r in one['rows']), sum(r['cost'] for r in one['rows'])
        held = abs(hours - biggest['gpu_hours']) < 1e-6 and abs(cost - biggest['cost']) < 1e-5
        check(held and one['gpu_hours'] == told['gpu_hours'], f'rows of one account by {by} sum to it', (hours, cost, biggest))
    none = json.loads(run('account', '--journal', journal, '--user', 'nobody at all', '-o', 'json').out)
    check(none['rows'] == [] and none['rates'] == rates, 'somebody unknown has no rows')
    done = run('account', '--journal', journal, '--by', 'fault', '--account', biggest['name'])
    check(done.code == 2 and 'whole cluster' in done.err, 'faults are not told by account', done)
    whole = [d['whole'] for d in told['days']][:3]
    check(whole == [True] * 3 and told['streak']['complete_days'] == 3, 'three whole days', told['days'])
    goodput = json.loads(run('goodput', '--journal', journal, '-o', 'json').out)['classes']
    mine = told['classes_gpu_hours']
    idle = mine['idle_no_demand'] + mine['idle_fragmented']
    check(abs(idle - goodput['idle']) < 0.01 and abs(mine['stalled'] - goodput['slow']) < 0.01,
          'idle and stalled are those of muster goodput', (mine, goodput))
    faults = json.loads(run('account', '--journal', journal, '--by', 'fault', '-o', 'json').out)
    all_of = faults['origins']['fault']
    parts = sum(all_of[k + '_gpu_hours'] for k in ('lost', 'vain', 'slowed', 'out'))
    slowed = sum(o['slowed_gpu_hours'] for o in faults['origins'].values())
    check(0 < slowed <= faults['classes_gpu_hours']['stalled'] and
          abs(slowed + faults['slow_unexplained_gpu_hours'] - faults['classes_gpu_hours']['stalled']) < 0.01,
          'gangs that faults slowed are in the table, and the rest of the class stalled beside it', (slowed, faults['origins']))
    check(all_of['attempts_lost'] > 0 and abs(all_of['gpu_hours'] - parts) < 1e-6, 'what faults cost', all_of)
    check(abs(all_of['cost'] - 2.5 * all_of['gpu_hours']) < 1e-6, 'and in money', all_of)
    part = json.loads(run('account', '--journal', journal, '--from', '2026-01-02', '--to', '2026-01-03', '-o', 'json').out)
    check(part['installed_milli_gpu_ms'] == 128 * 86_400_000 * 1000 and part['days'][0]['whole'],
          'a day of it is a day of every GPU, to the last', part['installed_milli_gpu_ms'])
    again = json.loads(run('account', '--journal', journal, '--price', '100', '-o', 'json').out)
    check(again['rates'] == rates, '--price does not touch what a policy priced', again['rates'])
    text = run('account', '--journal', journal).out
    check('Cost of this time' in text and 'held_idle' in text and 'not seen' in text, 'as text', text)
    quota = write('journal.csv', 'account,from,to,gpu_hours\n' + ''.join(
        f'{r["name"]},2026-01-01,2027-01-01,1000000\n' for r in told['rows'] if not r['no_job']))
    done = run('account', 'quota', '--journal', journal, '--allocations', quota, '-o', 'json')
    used = sum(r['used_gpu_hours'] for r in json.loads(done.out)['rows'])
    held = sum(r['gpu_hours'] for r in told['rows'] if not r['no_job'])
    check(done.code == 0 and abs(used - held) < 0.01, 'quotas of a journal burn by what its jobs had', (used, held))


def of_a_running_one():
    with open(STATE + '/demo.log', 'w') as log:
        demo = subprocess.Popen([MUSTER, 'demo', '--gpus', '64', '--port', '0', '--speed', '3600', '--state', STATE + '/state'],
                                stdout=log, stderr=log, env=environment())
    try:
        told, until = {}, time.time() + 60
        while time.time() < until and told.get('gpu_hours', 0) < 64 * 3:
            done = run('account', '-o', 'json')
            told = json.loads(done.out) if done.code == 0 else {}
            time.sleep(0.3)
        check(told.get('gpu_hours', 0) >= 64 * 3 and any('--prometheus' in n for n in told['notes']),
              'some hours of a running Muster; how to see what it cannot', told)
        names = [r['name'] for r in told['rows'] if not r['no_job']]
        grants = write('running.csv', 'account,from,to,gpu_hours\n' + ''.join(f'{n},2020-01-01,2040-01-01,1000000\n'
                                                                              for n in names))
        done = run('account', 'quota', '--allocations', grants, '-o', 'json')
        used = {r['account']: r['used_gpu_hours'] for r in json.loads(done.out)['rows']} if done.out else {}
        check(used and all(used[r['name']] >= r['gpu_hours'] - 1e-6 for r in told['rows'] if not r['no_job']),
              'a running Muster says what was used of grants', done)
        # Read on from where it was, and read from the first event: the same, whatever came in between.
        journal = next(os.path.join(d, f) for d, _, all_of in os.walk(STATE + '/state') for f in all_of if f.endswith('.db'))
        window = ('--to', told['to_utc'])
        same, seen = None, 0
        while time.time() < until + 60 and same is None:
            texts = [run('account', *source, *window, '-o', 'json').out
                     for source in (('--journal', journal), (), ('--journal', journal))]
            classes = [json.loads(x)['classes_milli_gpu_ms'] if x else None for x in texts]
            seen += 1
            same = classes[1] == classes[0] if classes[0] and classes[0] == classes[2] and seen > 2 else None
        check(same, 'what is read on is what is read anew', classes)
    finally:
        demo.terminate()
        demo.wait(timeout=20)


def wrong():
    jobs = STATE + '/jobs.txt'
    rates = STATE + '/rates.csv'
    for args, code, words in [
            (('charge',), 2, '--ledger'),
            (('charge', '--ledger', STATE + '/none.jsonl'), 3, 'none.jsonl'),
            (('charge', '--ledger', LEDGER, '--sacct', jobs), 2, '--rates'),
            (('charge', '--ledger', LEDGER, '--rates', rates), 2, '--sacct'),
            (('charge', '--ledger', LEDGER, '--sacct', jobs, '--rates', STATE + '/no.csv'), 3, 'no.csv'),
            (('charge', '--ledger', LEDGER, '--sacct', jobs, '--rates', jobs), 2, 'jobs.txt'),
            (('charge', '--ledger', STATE, '--sacct', jobs, '--rates', rates), 2, ''),
            (('charge', '--ledger', LEDGER, '--by', 'colour'), 2, 'account, user, partition'),
            (('quota', '--sacct', jobs), 2, '--allocations'),
            (('quota', '--allocations', STATE + '/grants.csv'), 5, 'no Muster is running'),
            (('quota', '--allocations', STATE + '/grants.csv', '--sacct', jobs, '--ledger', LEDGER), 2, 'more than one'),
            (('--journal', STATE + '/none.db'), 3, 'none.db'),
            (('--journal', STATE + '/none.db', '--events', jobs), 2, 'for --sacct'),
            (('--journal', STATE + '/none.db', '--zone', 'Europe/Berlin'), 2, 'days are of UTC'),
            (('--sacct', jobs, '--account', 'bio'), 2, 'sacct choose'),
            (('--sacct', jobs, '--by', 'fault'), 2, 'journal')]:
        done = run('account', *args)
        asked = ' '.join(os.path.basename(a) for a in args)
        check(done.code == code and words in done.err and done.out == '', f'account {asked}: exit {code}', done)


os.makedirs(STATE, exist_ok=True)
charging()
not_charged()
changed_ledgers()
quotas()
of_a_journal()
wrong()
of_a_running_one()
finish()
