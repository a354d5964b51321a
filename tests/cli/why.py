#!/usr/bin/env python3
"""`muster why` and `muster incident` on the record: random actions of random runs name evidence, rule, policy, alternatives,
budget and outcome; every act on a node's health has evidence and an alternative; one changed byte is told with its event; a
running controller gives the same answers. `why.py MUSTER [SEED [RUNS]]` draws other runs."""
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

from checks import MUSTER, STATE, check, environment, finish, run

SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 20
RUNS = int(sys.argv[3]) if len(sys.argv) > 3 else 3
PER_VERB = 2
rng = random.Random(SEED)
env = environment()


def events_of(journal):
    return [json.loads(line) for line in run('journal', 'export', journal).out.splitlines()]


def lacks(decision, order, evidence_wanted):
    """What an answer should have and does not."""
    reason = order['reason']
    missing = []
    if evidence_wanted and not any(e.get('text') and e.get('witness') for e in decision['evidence']):
        missing.append('evidence')
    if decision['rule'] != reason['rule'] or not decision['rules_version']:
        missing.append('rule')
    if len(decision['policy']['hash']) != 64 or not decision['policy']['name']:
        missing.append('policy')
    if reason['budget'] != decision['budget'] or not decision['budget']:
        missing.append('budget')
    if decision['alternatives'] != reason['alternatives']:
        missing.append('alternatives')
    if not decision['outcome']['status']:
        missing.append('outcome')
    return missing


def health(order):
    return order['reason']['incident'] is not None and order['reason']['actor'] == 'muster'


held_back = asked = complete = acts = acts_with_both = named_by_decision = refusals = 0
verbs = set()
for number in range(RUNS):
    journal = f'{STATE}/run{number}.db'
    seed, weather = rng.randrange(1, 10**6), rng.choice((60, 120, 200))
    ran = run('twin', 'run', '--gpus', '256', '--days', '1', '--weather', f'x{weather}', '--seed', str(seed),
              '--journal', journal, '--progress', 'never', timeout=110)
    check(ran.code == 0, f'a run with seed {seed}', ran)
    events = events_of(journal)
    orders = {e['body']['order']['key']: e['body']['order'] for e in events if e['type'] == 'order_intended'}
    ends = {e['body']['key']: e['body'] for e in events if e['type'] == 'order_ended' and e['body']['status'] != 'unknown'}
    refusals += sum(e['type'] == 'order_refused' for e in events)
    waiting, held_before = {}, {}  # refusals of the same act since it was last done, by incident and verb
    for e in events:
        if e['type'] == 'order_refused':
            about = (e['body']['reason']['incident'], e['body']['action']['verb'])
            waiting[about] = waiting.get(about, 0) + 1
        elif e['type'] == 'order_intended':
            order = e['body']['order']
            held_before[order['key']] = waiting.pop((order['reason']['incident'], order['action']['verb']), 0)
    by_verb = {}
    for key, order in orders.items():
        by_verb.setdefault(order['action']['verb'], []).append(key)
    verbs |= set(by_verb)
    for verb, keys in sorted(by_verb.items()):
        for key in rng.sample(keys, min(PER_VERB, len(keys))):
            ran = run('why', '--journal', journal, 'action', key, '-o', 'json')
            asked += 1
            decisions = json.loads(ran.out)['decisions'] if ran.code == 0 else []
            order = orders[key]
            about_job = verb in ('requeue_job', 'restart_job', 'fail_job')
            missing = lacks(decisions[0], order, health(order) or about_job) if len(decisions) == 1 else ['answer']
            if key in ends and decisions and decisions[0]['outcome']['status'] != ends[key]['status']:
                missing.append('outcome')
            complete += not missing
            check(not missing, f'seed {seed}: why {key} ({verb}) ' + (f'lacks {missing}' if missing else 'names all'), ran)
    # Each act on a node's health, by way of the reports of all incidents.
    told = {}
    for incident in sorted({o['reason']['incident'] for o in orders.values() if health(o)}):
        ran = run('incident', '--journal', journal, str(incident), '-o', 'json')
        report = json.loads(ran.out) if ran.code == 0 else {'decisions': [], 'phases': []}
        told.update({d['key']: d for d in report['decisions']})
        shares = sum(p['share'] for p in report['phases'])
        check(abs(shares - 1) < 1e-6 and report['summary'] and report['timeline'] and report['evidence'],
              f'seed {seed}: incident {incident} is told, and its phases are the whole', ran)
        check(bool(report['resolution']) or bool(report['what_now']), f'incident {incident}: how it ended or what to do now', ran)
    for key, order in orders.items():
        if not health(order):
            continue
        acts += 1
        d = told.get(key, {'evidence': [], 'alternatives': [], 'alternatives_beside': []})
        both = bool(d['evidence']) and bool(d['alternatives'] or d['alternatives_beside'])
        acts_with_both += both
        named_by_decision += bool(d['alternatives'])
        check(both, f'seed {seed}: {key} has evidence and an alternative', d)
        held = sum(h['times'] for h in d.get('held_back_before', []))
        held_back += held > 0
        check(held == held_before.get(key, 0), f'seed {seed}: {key} was held back {held_before.get(key, 0)} times before', d)
check(acts > 100 and len(verbs) >= 9, f'enough was seen: {acts} acts, {sorted(verbs)}')
print(f'why: {complete} of {asked} random actions of {RUNS} runs (verbs: {", ".join(sorted(verbs))}) name rule, policy hash, '
      f'budget, alternatives and outcome, and evidence where there is any; {acts_with_both} of {acts} acts on health have '
      f'evidence and an alternative ({named_by_decision} by the decision itself, the others by what was tried before); '
      f'{held_back} of them were held back before, by {refusals} refusals in all')

# As people read it.
journal = f'{STATE}/run0.db'
events = events_of(journal)
drain = next(e['body']['order'] for e in events
             if e['type'] == 'order_intended' and e['body']['order']['action']['verb'] == 'drain_node')
incident = str(drain['reason']['incident'])
ran = run('why', '--journal', journal, drain['key'])
wanted = ('evidence', 'rule ', 'policy ', 'not done ', 'budget ', 'outcome ', drain['reason']['rule'],
          drain['reason']['alternatives'][0][:30], 'each hash checked')
check(ran.code == 0 and all(w in ran.out for w in wanted), 'why, in plain words', ran)
ran = run('why', '--journal', journal, 'queue')
check(ran.code == 0 and 'the queue:' in ran.out, 'the queue as the journal left it', ran)
for form, mark in (('text', 'Where the time went'), ('markdown', '## Where the time went'), ('json', '"phases"')):
    ran = run('incident', '--journal', journal, incident, '-o', form)
    check(ran.code == 0 and mark in ran.out and '\x1b' not in ran.out, f'an incident as {form}', ran)
ran = run('incident', '--journal', journal, '99999')
check(ran.code == 3 and not ran.out and '99999' in ran.err, 'an incident that never was: exit 3', ran)
ran = run('why', '--journal', STATE + '/nowhere.db', 'queue')
check(ran.code == 3 and not ran.out, 'no such journal: exit 3', ran)
ran = run('incident', '0')
check(ran.code == 2, 'incidents count from 1', ran)

# One byte of one event, or of one hash.
last = events[-1]['seq']
for k in range(12):
    broken = f'{STATE}/broken.db'
    shutil.copyfile(journal, broken)
    seq, column = (last - 1000 if k == 0 else rng.randrange(1, last + 1)), rng.choice(('bytes', 'hash'))
    if k == 0:
        column = 'hash'
    db = sqlite3.connect(broken)
    blob = bytearray(db.execute(f'SELECT {column} FROM event WHERE seq=?', (seq,)).fetchone()[0])
    blob[rng.randrange(len(blob))] ^= rng.randrange(1, 256)
    db.execute(f'UPDATE event SET {column}=? WHERE seq=?', (bytes(blob), seq))
    db.commit()
    db.execute('PRAGMA wal_checkpoint(TRUNCATE)')
    db.close()
    for args in (('why', '--journal', broken, drain['key']), ('incident', '--journal', broken, incident)):
        ran = run(*args)
        check(ran.code == 1 and not ran.out and f'the chain breaks at event {seq}:' in ran.err,
              f'a byte of {column} of event {seq}: {args[0]} tells nothing, and where it breaks', ran)

# A running controller answers from its own journal, and as the file does.
log = open(STATE + '/demo.log', 'w+')
demo = subprocess.Popen([MUSTER, 'demo', '--gpus', '128', '--port', '0', '--speed', '1200', '--weather', 'x200', '--state',
                         STATE + '/state'], stdout=log, stderr=log, env=env)
try:
    def ask(*args):
        return run(*args, env=env)

    until = time.time() + 45
    closed = []
    while time.time() < until and demo.poll() is None and not closed:
        ran = ask('get', 'incidents', '-o', 'json')
        closed = [i for i in json.loads(ran.out)['items'] if i['stage'] == 'closed'] if ran.code == 0 else []
        time.sleep(0.3)
    check(bool(closed), 'an incident came and went', ran)
    node = ask('get', 'nodes', '--only', 'busy', '-o', 'name').out.split()[0]
    ran = ask('drain', node, '--yes', '--reason', 'new firmware')
    check(ran.code == 0, 'a person drains a node', ran)
    said = ''
    while time.time() < until and 'new firmware' not in said:
        said = ask('why', node).out
        time.sleep(0.2)
    check('who asked to drain' in said and 'new firmware' in said, 'why NODE names the person and the reason', said)
    if closed:
        number = str(closed[-1]['id'])
        live = json.loads(ask('incident', number, '-o', 'json').out)
        filed = json.loads(ask('incident', '--journal', STATE + '/state/journal.db', number, '-o', 'json').out)
        del live['record'], filed['record']
        check(live == filed and live['status'] == 'closed', 'a running Muster and its file tell the same', live)
        ran = ask('why', 'incident', number)
        check(ran.code == 0 and 'not done' in ran.out and 'outcome' in ran.out, 'why incident, live', ran)
    ran = ask('incident', '99999')
    check(ran.code == 3, 'live, an incident that never was: exit 3', ran)
finally:
    demo.send_signal(signal.SIGTERM)
    demo.wait(30)
finish()
