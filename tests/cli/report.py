#!/usr/bin/env python3
"""muster report: one file from fifteen days of the twin and from a running demo; its sums, its formats, the week before, short
records, files that are there already, and what is wrong to ask for."""
import glob
import json
import os
import re
import subprocess
import time

from checks import MUSTER, STATE, check, environment, finish, run
from page import Page

JOURNAL = STATE + '/weeks.db'
GPUS, DAYS = 64, 15


def sums(report):
    """Every piece and the whole: classes against what is installed, in GPU-microseconds."""
    for piece in [report['all'], *report['pieces'], *([report['before']] if report['before'] else [])]:
        yield piece['installed_gpu_us'], sum(piece['classes_gpu_us'].values())


def of_days(days, *args, timeout=110):
    return run('report', '--since', f'{days}d', '--journal', JOURNAL, *args, timeout=timeout)


def the_page():
    folder = STATE + '/here'
    os.mkdir(folder)

    def make():
        return subprocess.run([MUSTER, 'report', '--journal', JOURNAL], capture_output=True, cwd=folder, env=environment(),
                              timeout=110)

    done = make()
    made = os.listdir(folder)
    check(done.returncode == 0 and len(made) == 1 and re.fullmatch(r'muster-report-[\w.-]+-\d{4}-\d\d-\d\d\.html', made[0]),
          'one file, named after the cluster and the day', (made, done.stderr))
    check(not done.stdout and b'wrote ' + made[0].encode() in done.stderr, 'which is said', done.stderr)
    text = open(f'{folder}/{made[0]}', encoding='utf-8').read()
    page = Page(text)
    check(not page.asks and 'http://' not in text and 'https://' not in text and '@import' not in text and 'url(' not in text,
          'it asks for nothing from outside', page.asks)
    check('script' not in page.tags and not page.wrong and not page.open, 'it has no script, and is well formed',
          page.wrong or page.open)
    check(len(page.ids) == len(set(page.ids)) and {'headline', 'classes', 'days', 'causes', 'incidents', 'reliability', 'jobs',
                                                     'queues', 'acts', 'held_back', 'people', 'repeated', 'record',
                                                     'definitions'} <= set(page.ids), 'with every part', page.ids)
    check('SIMULATED' in text and 'the record is whole' in text and 'prefers-color-scheme: dark' in text and
          '@media print' in text, 'that it is a simulation, that the record is whole, for screen and paper')
    check(len(text) < 1_000_000, f'{len(text)} bytes')
    again = make()
    check(again.returncode == 0 and b'replaced ' in again.stderr and len(os.listdir(folder)) == 1,
          'a file that is there already is replaced, and that is said', again.stderr)
    return text


def the_numbers(page):
    ran = of_days(7, '-o', 'json')
    check(ran.code == 0, 'as JSON, on standard output', ran)
    report = json.loads(ran.out)
    check(all(installed == parts for installed, parts in sums(report)),
          'classes sum to what is installed, to the GPU-microsecond', list(sums(report)))
    whole = report['all']
    check(whole['installed_gpu_us'] == sum(p['installed_gpu_us'] for p in report['pieces']) and
          abs(whole['installed_gpu_us'] - GPUS * 7 * 86400 * 10**6) <= GPUS * 1000, 'the days sum to the week, all of it', whole)
    check(all(whole['classes_gpu_us'][c] == sum(p['classes_gpu_us'][c] for p in report['pieces'])
              for c in whole['classes_gpu_us']), 'in each class')
    classes = whole['classes_gpu_us']
    check(sum(c['gpu_us'] for c in whole['causes']) == whole['installed_gpu_us'] - classes['useful'] - classes['unsettled'],
          'each hour that was not useful has a cause', whole['causes'])
    check(len(report['pieces']) == 7 and report['pieces'][0]['from_utc'] == report['from_utc'] and
          all(a['to_utc'] == b['from_utc'] for a, b in zip(report['pieces'], report['pieces'][1:])), 'seven days without a gap')
    before = report['before']
    check(before and before['to_utc'] == report['from_utc'] and report['reliability_before'] and not report['short'],
          'against the week before', report['headline'])
    check(report['chain']['ok'] and report['chain']['events'] > 100, 'the chain was checked', report['chain'])
    check(report['incidents'] and report['reliability']['failures'] > 0 and
          report['reliability']['mean_detect_s'] is not None and 0 < len(report['advice']) <= 3, 'incidents, and what to do',
          report['advice'])
    check(report['queues'] and report['queues'][0]['p95_s'] >= report['queues'][0]['median_s'] >= 0, 'waiting times',
          report['queues'])
    check(any(a['who'] == 'muster' and a['done'] > 0 for a in report['acts']), 'what Muster did by itself', report['acts'])
    ran = run('goodput', '--since', '7d', '--journal', JOURNAL, '-o', 'json')
    asked = json.loads(ran.out)
    check(abs(asked['installed_gpu_h'] - whole['installed_gpu_h']) < 1e-3 and
          abs(asked['classes']['useful'] - whole['useful_gpu_h']) < 1e-3, '`muster goodput` says the same', asked['classes'])
    for line in report['headline']:
        check(line in page, 'the page has the same headline', line)
    one = report['incidents'][0]
    ran = run('incident', str(one['id']), '--journal', JOURNAL, '-o', 'json')
    told = json.loads(ran.out)
    check(abs(told['affected']['total_gpu_hours'] - one['gpu_h']) < 0.01 * one['gpu_h'] + 0.01,
          'an incident costs what its own report says', (told['affected'], one))
    return report


def markdown(report):
    ran = of_days(7, '-o', 'md')
    check(ran.code == 0 and ran.out.startswith('# '), 'as Markdown', ran)
    plain = ran.out.replace('\\', '')
    check(all(line in plain for line in report['headline']) and all(a['what_to_do'] in plain for a in report['advice']),
          'which says what the JSON says', ran)
    for incident in report['incidents'][:10]:
        check(f"| {incident['id']} | {incident['where']} |" in plain, f"incident {incident['id']} is in both")
    target = STATE + '/week.md'
    ran = of_days(7, '-o', 'md', target)
    check(ran.code == 0 and not ran.out and open(target).read().startswith('# '), 'into a file', ran)
    ran = of_days(7, '-')
    check(ran.code == 0 and ran.out.startswith('<!doctype html>'), '- is standard output', ran)
    ran = of_days(7, '--price', '2.5', '-o', 'json')
    priced = json.loads(ran.out)
    check(abs(priced['all']['lost_money'] - 2.5 * priced['all']['lost_gpu_h']) < 0.01 and priced['currency'] == 'USD' and
          any(' USD)' in line for line in priced['headline']), 'with a price, in money', priced['headline'])


def other_stretches(report):
    ran = of_days(30, '-o', 'json')
    short = json.loads(ran.out)
    check(ran.code == 0 and short['short'] and short['before'] is None and short['reliability_before'] is None and
          'less than was asked for' in ran.err, 'a record that is shorter than asked for says so, and compares with nothing', ran)
    check(all(installed == parts for installed, parts in sums(short)), 'its sums hold')
    ran = of_days(10, '-o', 'json')
    ten = json.loads(ran.out)
    check(not ten['short'] and ten['before'] is None and any('does not reach back' in line for line in ten['headline']),
          'nor with a stretch that is not there', ten['headline'])
    day = report['pieces'][2]['from_utc'][:10]
    ran = run('report', '--since', '48h', '--until', day, '--journal', JOURNAL, '-o', 'json')
    past = json.loads(ran.out)
    check(ran.code == 0 and past['to_utc'] == day + 'T00:00:00Z' and past['before'] is not None, 'up to a day', ran)
    ran = run('report', '--since', past['from_utc'][:10], '--until', day, '--journal', JOURNAL, '-o', 'json')
    check(ran.code == 0 and json.loads(ran.out)['all'] == past['all'], 'from a day, the same', ran)


def refusals():
    for args, code, part in ((('--since', 'soon'), 2, 'such as 7d'), (('--since', '0d'), 2, '--since'),
                             (('--until', 'tomorrow'), 2, '--until'), (('-o', 'pdf'), 2, 'html, md, json'),
                             (('--since', '2035-01-01'), 2, 'is not before'),
                             (('--until', '1999-01-01'), 3, 'the record reaches'), (('--price', 'free'), 2, '--price'),
                             ((STATE,), 2, 'directory')):
        ran = run('report', '--journal', JOURNAL, *args)
        check(ran.code == code and part.lower() in ran.err.lower() and not ran.out, f'{args} is refused with the reason', ran)
    ran = run('report', '--journal', STATE + '/absent.db')
    check(ran.code == 3 and 'absent.db' in ran.err, 'a journal that is not there', ran)
    ran = run('report', '--journal', JOURNAL, STATE + '/no/folder.html')
    check(ran.code == 3, 'nor a folder', ran)
    ran = run('report')
    check(ran.code == 5 and 'no Muster is running' in ran.err, 'nobody answers', ran)
    check(not glob.glob('muster-report-*'), 'nothing was left here')


def of_a_demo():
    env = environment()
    log = open(STATE + '/demo.log', 'w')
    demo = subprocess.Popen([MUSTER, 'demo', '--gpus', '64', '--port', '0', '--speed', '3600', '--weather', 'x100', '--state',
                             STATE + '/state'], stdout=log, stderr=log, env=env)
    try:
        until = time.time() + 40
        report = None
        while time.time() < until and demo.poll() is None:
            ran = run('report', '-o', 'json', env=env)
            report = json.loads(ran.out) if ran.code == 0 else None
            if report and report['all']['installed_gpu_h'] > 64 * 6 and report['all']['useful_gpu_h'] > 0:
                break
            time.sleep(0.5)
        check(report and report['short'] and report['before'] is None and 'weather' in report['simulation'],
              'of a running demo: what there is, and that it is a simulation', ran)
        check(all(installed == parts for installed, parts in sums(report)), 'its sums hold while time passes')
        target = STATE + '/demo.html'
        ran = run('report', target, env=env)
        text = open(target).read()
        check(ran.code == 0 and 'SIMULATED: weather' in text and not Page(text).wrong, 'as a page', ran)
    finally:
        demo.terminate()
        demo.wait(timeout=20)


RAN = run('twin', 'run', '--gpus', str(GPUS), '--days', str(DAYS), '--weather', 'x50', '--seed', '3', '--journal', JOURNAL,
          timeout=250)
check(RAN.code == 0, 'fifteen days of the twin', RAN)
PAGE = the_page()
REPORT = the_numbers(PAGE)
markdown(REPORT)
other_stretches(REPORT)
refusals()
of_a_demo()
finish()
