#!/usr/bin/env python3
"""muster energy: joules by who held the GPUs, counters against samples, money by the hour, peaks, carbon, tokens; power caps with
the figures that docs/energy.md promises; the best hours, on public prices where MUSTER_DATA has them; bad input."""
import csv
import datetime
import http.server
import io
import json
import os
import threading
import urllib.parse

from checks import STATE, check, finish, run

BEGIN = datetime.datetime(2026, 11, 2, tzinfo=datetime.timezone.utc)  # a Monday


def at(seconds):
    return (BEGIN + datetime.timedelta(seconds=seconds)).strftime('%Y-%m-%dT%H:%M:%SZ')


def write(name, text):
    path = os.path.join(STATE, name)
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)
    return path


def near(a, b, share=1e-6):
    return abs(a - b) <= share * max(abs(a), abs(b), 1e-12)


def ask(*args):
    done = run('energy', *args, '-o', 'json')
    check(done.code == 0, 'energy ' + ' '.join(args[:3]) + ' answers', done)
    return json.loads(done.out)


def row(report, name):
    return next(r for r in report['rows'] if r['name'] == name)


def recording(name, gap=None, reset=None, counter=True):
    """Two hours of two GPUs at 600 and 200 W, read each 10 s; the counter's own words."""
    lines = ['timestamp_utc,node,gpu,uuid,model,power_w,instant_w,energy_mj']
    for s in range(0, 7201, 10):
        if gap and gap[0] < s < gap[1]:
            continue
        for gpu, watts in enumerate((600, 200)):
            mj = 5_000_000_000_000 + s * watts * 1000
            if reset and s >= reset:
                mj = (s - reset + 5) * watts * 1000
            lines.append(f'{at(s)},n1,{gpu},GPU-{gpu}aaaa,NVIDIA H200,{watts},,{mj if counter else ""}')
    return write(name, '\n'.join(lines) + '\n')


def jobs(name, rows, columns='job,node,gpus,gpu_index,start,end,gpu_type,user,account'):
    return write(name, columns + '\n' + '\n'.join(rows) + '\n')


PLAIN = ('--pue', '1.25', '--host-watts', '300')


def who_held_what():
    power = recording('power.csv')
    who = jobs('who.csv', [f'1,n1,,0,{at(0)},{at(3600)},h200,ada,lab', f'2,n1,,"0-1",{at(3600)},{at(5400)},h200,bob,lab'])
    r = ask('--power', power, '--jobs', who, *PLAIN)
    check(near(sum(row(r, '1')['gpu_j'].values()), 600 * 3600), 'a job has the energy of its GPU', row(r, '1'))
    check(near(sum(row(r, '2')['gpu_j'].values()), 800 * 1800), 'and of both, where it held both', row(r, '2'))
    nobody = row(r, '(idle, held by nobody)')
    check(near(sum(nobody['gpu_j'].values()), 200 * 3600 + 800 * 1800), 'what nobody held is a row of its own', nobody)
    check(near(sum(r['all']['gpu_j'].values()), 800 * 7200), 'and all of it is what the meters said', r['all'])
    check(r['all']['measured_share'] == 1 and r['all']['gpu_j']['counter'] > 0 == r['all']['gpu_j']['sampled'], 'by counters',
          r['all'])
    check(near(row(r, '1')['site_kwh'], (600 + 300) / 1000 * 1.25), 'host and PUE come on top', row(r, '1'))
    check(near(r['all']['site_kwh'], sum(x['site_kwh'] for x in r['rows'])), 'rows sum to all of it')
    check(len(r['agreement']) == 2 and all(abs(a['difference_pct']) < 1e-6 for a in r['agreement']), 'both ways agree',
          r['agreement'])
    whole = ask('--power', power, *PLAIN)
    check(near(sum(whole['all']['gpu_j'].values()), 800 * 7200), 'without jobs: all that was recorded', whole['all'])
    text = run('energy', '--power', power, '--jobs', who)
    check(text.code == 0 and 'assumed: --pue' in text.out and "the site's meter" in text.out, 'what is assumed is said', text)
    by = ask('--power', power, '--jobs', who, '--by', 'account', *PLAIN)
    check([x['name'] for x in by['rows']] == ['lab', '(idle, held by nobody)'] and by['rows'][0]['runs'] == 2, 'by account',
          by['rows'])
    sheet = list(csv.DictReader(io.StringIO(run('energy', '--power', power, '--jobs', who, '-o', 'csv').out)))
    check(sheet[0]['job'] == '2' or sheet[0]['job'] == '1', 'CSV has a row for each', sheet)
    check('gpu_kwh' in sheet[0] and 'measured_share' in sheet[0], 'with units in the names of its columns', sheet[0])


def troubles():
    who = jobs('who1.csv', [f'1,n1,,"0-1",{at(0)},{at(7200)},h200,ada,lab'])
    r = ask('--power', recording('gap.csv', gap=(3000, 3600), counter=False), '--jobs', who, *PLAIN)
    check(near(r['all']['gpu_j']['estimated'], 800 * 600) and r['meters']['gaps'] == 2,
          'a gap of samples is estimated, and named', r['meters'])
    check(any('2 gaps' in n and at(3000) in n for n in r['notes']), 'with when it was', r['notes'])
    r = ask('--power', recording('gap2.csv', gap=(3000, 3600)), '--jobs', who, *PLAIN)
    check(r['all']['gpu_j']['estimated'] == 0 and near(r['all']['gpu_j']['counter'], 800 * 7200), 'a counter bridges it',
          r['all'])
    r = ask('--power', recording('reset.csv', reset=3605), '--jobs', who, *PLAIN)
    check(r['meters']['resets'] == 2 and near(r['all']['gpu_j']['sampled'], 800 * 10), 'over a reset samples stand in', r)
    check(near(sum(r['all']['gpu_j'].values()), 800 * 7200), 'and nothing is lost', r['all'])
    part = jobs('part.csv', [f'1,n1,1,,{at(0)},{at(3600)},h200,ada,lab'])
    r = ask('--power', recording('p.csv'), '--jobs', part, *PLAIN)
    check(near(row(r, '1')['apportioned_j'], 400 * 3600), 'where it is not known which GPU, the node is split, and that is said',
          row(r, '1'))
    r = ask('--jobs', part, *PLAIN)
    check(r['all']['measured_share'] == 0 and near(r['all']['gpu_j']['estimated'], 525 * 3600),
          'without readings it is estimated', r['all'])
    check(near(r['all']['gpu_kwh_low'], 0.081) and near(r['all']['gpu_kwh_high'], 0.7), 'with its range', r['all'])
    strange = ask('--jobs', jobs('x.csv', [f'1,n1,1,,{at(0)},{at(3600)},x9000,ada,lab']), *PLAIN)
    check(strange['all']['gpu_kwh'] == 0 and any("'x9000'" in n for n in strange['notes']), 'a model nobody knows is named',
          strange['notes'])


def from_slurm():
    head = 'JobID|User|Account|Partition|State|Start|End|AllocTRES|NodeList|ConsumedEnergyRaw\n'
    rows = [f'7|ada|lab|gpu|COMPLETED|2026-11-02T01:00:00|2026-11-02T02:00:00|billing=8,gres/gpu:h200=8,node=1|n7|{6000 * 3600}',
            '8|ada|lab|gpu|COMPLETED|2026-11-02T01:00:00|2026-11-02T02:00:00|gres/gpu:h200=8,node=1|n8|0',
            '9|ada|lab|gpu|COMPLETED|2026-11-02T01:00:00|2026-11-02T02:00:00|gres/gpu:h200=8,node=1|n9|720000',
            '10|ada|lab|cpu|COMPLETED|2026-11-02T01:00:00|2026-11-02T02:00:00|cpu=8,node=1|c1|0']
    r = ask('--sacct', write('sacct.txt', head + '\n'.join(rows) + '\n'), '--zone', 'Europe/Berlin', '--pue', '1', '--host-watts',
            '0')
    check(r['from_utc'] == '2026-11-02T00:00:00Z', 'times without a zone are of --zone', r['from_utc'])
    check(near(row(r, '7')['gpu_j']['slurm'], 6000 * 3600), "Slurm's energy counts where there is nothing better", row(r, '7'))
    check(row(r, '8')['gpu_j']['slurm'] == 0 == row(r, '9')['gpu_j']['slurm'], 'and is refused where it cannot be', r['rows'])
    check(any('counts processors alone' in n or 'not believed for 1 run' in n for n in r['notes']), 'with the reason', r['notes'])
    check(len(r['rows']) == 3 and any('no GPUs' in n for n in r['notes']), 'jobs without GPUs are left out, and counted',
          r['notes'])


def money():
    who = jobs('money.csv', [f'1,n1,,0,{at(0)},{at(7200)},h200,ada,lab', f'2,n1,,1,{at(3600)},{at(7200)},h200,bob,lab'])
    tariff = write('tariff.yaml', 'name: t\ncurrency: EUR\nzone: Europe/Berlin\nfees_per_kwh: 0.01\nenergy:\n'
                   '  - {price_per_kwh: 0.30, hours: 2-3}\n  - {price_per_kwh: 0.10}\ndemand:\n  - {price_per_kw_month: 720}\n')
    r = ask('--power', recording('m.csv'), '--jobs', who, '--tariff', tariff, '--pue', '1', '--host-watts', '0', '--carbon',
            '400',
            '--embodied', '3506.4', '--tokens', '1=1e6')
    one, two = row(r, '1'), row(r, '2')
    check(r['currency'] == 'EUR' and near(one['energy_cost'], 0.6 * (0.11 + 0.31)),
          'each hour at its price, by the clocks of the zone', one)
    check(near(two['energy_cost'], 0.2 * 0.31), 'a job pays for its own hours', two)
    check(near(one['carbon_kg'], 1.2 * 0.4) and near(one['embodied_kg'], 0.02), 'carbon, and what making the server emitted', one)
    check(near(one['joules_per_token'], 1.2 * 3.6e6 / 1e6), 'joules a token', one)
    peak = r['demand_peaks'][0]
    seen = 7200 / (30 * 86400)
    check(near(peak['power_kw'], 0.8, 1e-3) and near(peak['month_seen_share'], seen, 1e-2),
          'the peak is the highest quarter of an hour', peak)
    demand = sum(x['demand_cost'] for x in r['rows'])
    check(near(demand, peak['charge'], 1e-6), 'its charge goes to who drew in it', (demand, peak))
    prices = write('prices.csv', 'timestamp,price_per_mwh\n2026-11-02 00:00:00,50\n2026-11-02 01:00:00,-20\n')
    r = ask('--power', recording('m.csv'), '--jobs', who, '--prices', prices, '--pue', '1', '--host-watts', '0')
    check(near(row(r, '1')['energy_cost'], 0.6 * 0.05 - 0.6 * 0.02), 'hourly prices, below 0 too', row(r, '1'))
    late = ask('--jobs', jobs('late.csv', [f'1,n1,1,,{at(0)},{at(4 * 3600)},h200,ada,lab']), '--prices', prices, '--pue', '1',
               '--host-watts', '0')
    check(near(row(late, '1')['unpriced_kwh'], 1.05), 'hours without a price are counted apart', late['rows'])
    made_up = run('energy', '--jobs', who, '--tariff', 'example')
    check(made_up.code == 0 and 'MADE UP' in made_up.out, 'the tariff that ships says that it is made up', made_up)


def caps():
    r = ask('cap', '--gpu', 'h200', '--to', '500')
    c = r['chosen']
    check(near(c['money_ratio'], 1.177, 1e-3), 'at 1 USD a GPU-hour a cap of 500 W costs 18 % more for the same work', c)
    check(near(c['gpu_energy_ratio'], 0.857, 1e-3) and near(c['time_ratio'], 1.199, 1e-3),
          'for 14 % less energy and 20 % more time', c)
    check(near(c['break_even_per_gpu_hour'], 0.0155, 0.01) and not c['pays'], 'and pays below 0.015 USD only', c)
    per_mw = {x['cap_w']: x['work_per_mw_ratio'] for x in r['caps']}
    check(near(per_mw[600], 1.032, 1e-3) and near(per_mw[500], 1.029, 1e-3) and per_mw[400] < 0.9,
          '3 % more work a MW at 600 and 500 W', per_mw)
    m = ask('cap', '--gpu', 'h200', '--bound', 'memory', '--to', '300')['chosen']
    check(abs(100 * (1 - m['gpu_power_ratio']) - 27) < 0.5 and abs(100 * (1 - 1 / m['time_ratio']) - 5.6) < 0.05,
          'bound by memory, 300 W: 27 % less power, 5.6 % less bandwidth', m)
    text = run('energy', 'cap', '--to', '500')
    check('does not pay at 1.00 USD a GPU-hour: the work costs 17.7 % more' in text.out.replace('\n', ' '), 'in one sentence',
          text)
    check(ask('cap', '--gpu', 'v100', '--bound', 'training', '--to', '150')['chosen']['gpu_energy_ratio'] == 0.8417,
          'Zeus: V100 at 60 %')
    between = ask('cap', '--to', '550')['chosen']
    check(500 < between['cap_w'] < 600 and between['work'].startswith('between'),
          'between measured caps a line is drawn, and said', between)
    own = write('own.csv', 'cap_w,throughput,power_w\n700,100,690\n500,90,495\n')
    check(near(ask('cap', '--bound', 'measured', '--measured', own, '--to', '500')['chosen']['time_ratio'], 100 / 90),
          "one's own curve")
    for args, code, words in ((('--to', '250'), 2, 'between 300 and 700 W'), (('--gpu', 'b200'), 3, 'no caps were measured'),
                              (('--bound', 'measured'), 2, '--measured FILE'), (('--to', 'low'), 2, '--to'),
                              (('--bound', 'measured', '--measured', write('bad.csv', 'cap_w,throughput,power_w\n500,0,1\n')), 2,
                               'bad.csv:2')):
        done = run('energy', 'cap', *args)
        check(done.code == code and done.out == '' and words in done.err, f'cap {" ".join(args[:2])} is refused', done)


def hours():
    lines = ['timestamp,price_per_mwh,forecast_per_mwh']
    for h in range(240):
        price = 20 if h % 24 < 6 else 60
        lines.append(f'{(BEGIN + datetime.timedelta(hours=h)).strftime("%Y-%m-%d %H:%M:%S")},{price},{price}')
    series = write('hours.csv', '\n'.join(lines) + '\n')
    r = ask('hours', '--prices', series, '--hours', '6', '--kw', '500', '--at', '2026-11-06T10:00:00Z')['by'][0]
    check(near(r['at_once']['cost'], 180) and near(r['foresight']['cost'], 60), 'three choices side by side', r)
    check(r['forecast']['hours_utc'] == r['foresight']['hours_utc'] and r['forecast']['hours_utc'][0] == '2026-11-07T00:00:00Z',
          'of good forecasts the best', r)
    below = [(-10 if h % 24 < 12 else -30) for h in range(240)]
    gains = write('gains.csv', 'timestamp,price_per_mwh,forecast_per_mwh\n' + ''.join(
        f'{(BEGIN + datetime.timedelta(hours=h)).strftime("%Y-%m-%d %H:%M:%S")},{p},{p}\n' for h, p in enumerate(below)))
    r = ask('hours', '--prices', gains, '--hours', '4', '--within', '24', '--at', '2026-11-06T01:00:00Z')['by'][0]
    check(near(r['at_once']['cost'], -4) and near(r['foresight']['cost'], -12) and near(r['foresight']['saved_share'], 2),
          'where prices are below 0, more of a gain is a saving', r)
    done = run('energy', 'hours', '--carbon', gains)
    check(done.code == 2 and done.out == '', 'prices are no carbon', done)
    for args, words in (((), '--prices FILE'), (('--prices', series, '--hours', '30'), 'within 24 h'),
                        (('--prices', series, '--at', '2020-01-01'), 'it goes from'), (('--prices', write('no.csv',
              'a,b\n1,2\n')), 'no.csv:1')):
        done = run('energy', 'hours', *args)
        check(done.code == 2 and done.out == '' and words in done.err, f'hours {" ".join(args[2:])} is refused', done)
    data = os.environ.get('MUSTER_DATA')
    if not data or not os.path.isdir(data + '/cost'):
        print('skip - no MUSTER_DATA: the savings on public prices were not checked')
        return
    for zone, promised in (('PJM', (22.9, 18.2, 13.6, 9.3, 4.8)), ('DE', (20.2, 15.9, 11.9, 8.1, 4.2))):
        done = run('energy', 'hours', '--prices', f'{data}/cost/dayahead_{zone}_hourly.csv', '--year', '-o', 'json', timeout=110)
        r = json.loads(done.out)['by'][0]
        seen = [c['saving_pct'] for c in r['daily_work']]
        check(all(abs(a - b) <= 0.25 for a, b in zip(seen, promised)), f'{zone}: a day\'s work saves what is promised (O6)',
              (seen, promised))
        replay = r['replay']
        check(replay['foresight'] < replay['forecast'] < replay['at_once'],
              f'{zone}: a forecast saves, less than the future would', replay)
        saved = {way: 100 * (1 - replay[way] / replay['at_once']) for way in ('forecast', 'foresight')}
        print(f'    {zone}: {[round(x, 1) for x in seen]}; six hours within 24: forecast {saved["forecast"]:.1f} %, '
              f'foresight {saved["foresight"]:.1f} %')


def series(name, labels, values):
    """A series of an answer, one point each 15 s."""
    points = [[BEGIN.timestamp() + 15 * i, str(v)] for i, v in enumerate(values)]
    return {'metric': {'__name__': name, **labels}, 'values': points}


def answer(name, *all_series):
    return write(name, json.dumps({'status': 'success', 'data': {'resultType': 'matrix', 'result': list(all_series)}}))


def names_of_series():
    """What exporters call power and energy, in which unit, of GPUs in slices, under two names of a node."""
    who = jobs('dcgm.jobs', [f'1,n1,,0,{at(0)},{at(3600)},h200,ada,lab'])
    lab = {'UUID': 'GPU-0aaaa', 'gpu': '0', 'Hostname': 'n1', 'modelName': 'NVIDIA H200'}
    steps = range(241)
    counted = [10**12 + 15 * 500_000 * i for i in steps]
    joules = [10**9 + 15 * 500 * i for i in steps]
    slices = [series('DCGM_FI_DEV_POWER_USAGE', {**lab, 'GPU_I_ID': k}, [500] * 241) for k in '345']
    for name, source, parts in (('DCGM', 'counter', [series('DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION', lab, counted)]),
                                ('DCGM in joules', 'counter', [series('DCGM_FI_DEV_BOARD_ENERGY_JOULES', lab, joules)]),
                                ('old DCGM', 'sampled', [series('dcgm_power_usage', {'uuid': 'GPU-0aaaa', 'gpu': '0',
                                 'instance': 'n1:9400'}, [500] * 241)]),
                                ('slices', 'sampled', slices),
                                ('of a pod and of its node', 'sampled',
                                 [series('DCGM_FI_DEV_POWER_USAGE', {**lab, 'Hostname': h}, [500] * 241)
                                  for h in ('dcgm-x7', 'n1')])):
        r = ask('--power', answer('dcgm.json', *parts), '--jobs', who, *PLAIN)
        check(near(row(r, '1')['gpu_j'][source], 500 * 3600) and len(r['rows']) == 1, f'{name}: read once, in its unit',
              r['rows'])
    wrong = ask('--power', answer('wrong.json', series('DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION', lab, [j // 10 for j in counted]),
                                  series('DCGM_FI_DEV_POWER_USAGE', lab, [500] * 241)), '--jobs', who, *PLAIN)
    check(near(row(wrong, '1')['gpu_j']['sampled'], 500 * 3600) and any('is not believed' in n for n in wrong['notes']),
          'a counter that samples contradict is not believed, and named', wrong['notes'])


def given_twice():
    head = 'JobID|User|Account|Partition|State|Start|End|ElapsedRaw|AllocTRES|NodeList\n'
    one = '7|ada|lab|gpu|COMPLETED|2026-11-02T01:00:00Z|2026-11-02T02:00:00Z|3600|gres/gpu:h200=8,node=1|n7\n'
    runs = '8|ada|lab|gpu|RUNNING|2026-11-02T01:00:00Z|Unknown|1800|gres/gpu:h200=8,node=1|n8\n'
    back = '9|ada|lab|gpu|FAILED|2026-11-02T02:00:00Z|2026-11-02T01:00:00Z|0|gres/gpu:h200=8,node=1|n9\n'
    sheet = write('twice.txt', head + one + one + runs + back + '10|ada|lab\n')
    r = ask('--sacct', sheet, '--sacct', sheet, *PLAIN)
    check(row(r, '7')['gpu_hours'] == 8 and any('each counts once' in n for n in r['notes']), 'a run given twice counts once',
          (row(r, '7'), r['notes']))
    check(row(r, '8')['gpu_hours'] == 4 and any('had not ended' in n for n in r['notes']),
          'one that runs lasts as long as its record says', (row(r, '8'), r['notes']))
    check(any('ended before it began' in n and 'job 9' in n for n in r['notes']), 'one that ended before it began is named',
          r['notes'])
    check(any('too few cells' in n for n in r['notes']), 'and rows that were left out', r['notes'])


def tokens():
    who = jobs('tok.jobs', [f'1,n1,8,,{at(0)},{at(3600)},h200,a,b,5e9', f'1,n1,8,,{at(7200)},{at(10800)},h200,a,b,5e9',
                            f'2,n1,8,,{at(3600)},{at(7200)},h200,a,b,'],
               'job,node,gpus,gpu_index,start,end,gpu_type,user,account,tokens')
    r = ask('--jobs', who, *PLAIN)
    check(row(r, '1')['tokens'] == 1e10 and any('missing of 1 of 2 jobs (job 2)' in n for n in r['notes']),
          'jobs without tokens are named', r['notes'])
    r = ask('--jobs', who, '--tokens', write('tok.csv', 'job,tokens\n1,4e9\n2,\n77,5\n'), *PLAIN)
    check(row(r, '1')['tokens'] == 4e9 and any('--tokens counts' in n for n in r['notes']),
          '--tokens counts, and not the table beside it', (row(r, '1'), r['notes']))
    check('tokens' not in row(r, '2') and any('such as 77' in n for n in r['notes']), 'and jobs that nobody knows are named',
          r['notes'])
    sheet = run('energy', '--jobs', who, '-o', 'csv').out
    rows = list(csv.DictReader(io.StringIO(sheet)))
    check("'-" not in sheet and rows[-1]['joules_per_token'] == '', 'a sheet has nothing where there is nothing', sheet)
    check(rows[0]['estimated_gpu_kwh'] == rows[0]['gpu_kwh'] and rows[0]['pue_assumed'] == 'true',
          'and says what is estimated and assumed', rows[0])


def several_nodes():
    head = 'timestamp, uuid, index, power.draw [W]\n'
    files = [write(f'{n}.csv', head + ''.join(f'{at(s)[:-1]}, GPU-{n}aaaa, 0, {w} W\n' for s in range(0, 3601, 10)))
             for n, w in (('a1', 400), ('a2', 600))]
    who = jobs('nodes.jobs', [f'1,a1,,0,{at(0)},{at(3600)},h200,a,b', f'2,a2,,0,{at(0)},{at(3600)},h200,a,b'])
    r = ask('--power', 'a1=' + files[0], '--power', 'a2=' + files[1], '--jobs', who, *PLAIN)
    check([near(sum(row(r, j)['gpu_j'].values()), w * 3600) for j, w in (('1', 400), ('2', 600))] == [True, True],
          'each file may say its node', r['rows'])
    one = run('energy', '--power', files[0], '--power', files[1], '--node', 'a1', '--jobs', who)
    check(one.code == 2 and one.out == '' and 'both read as GPU 0 of a1' in one.err, 'two GPUs cannot be the same one', one)


def other_money():
    who = jobs('m.jobs', [f'1,n1,8,,{at(0)},{at(3600)},h200,a,b'])
    carbon = write('c.csv', f'timestamp,actual_g_per_kwh\n{at(0)[:-4].replace("T", " ")},400\n')
    for args, words in ((('--tariff', 'example', '--currency', 'EUR'), 'is in USD, and --currency is EUR'),
                        (('--prices', carbon), 'price_per_mwh is missing')):
        done = run('energy', '--jobs', who, *args)
        check(done.code == 2 and done.out == '' and words in done.err, f'{" ".join(args[:1])} is refused: {words}', done)
    r = ask('--jobs', who, '--prices', write('k.csv', f'timestamp,price_per_mwh\n{at(0)[:-4]},0.11\n'), *PLAIN)
    check(any('prices of a kWh?' in n for n in r['notes']), 'prices that look like those of a kWh are doubted', r['notes'])
    r = ask('--jobs', who, '--from', '2027-01-01', '--to', '2027-01-02', *PLAIN)
    check(any('no run and no reading' in n for n in r['notes']), 'a stretch with nothing in it is called so', r['notes'])


class Prometheus(http.server.BaseHTTPRequestHandler):
    asked = []

    def log_message(self, *_):
        pass

    def do_POST(self):
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers['Content-Length'])).decode())
        Prometheus.asked.append(form)
        start, end, step = (float(form[k][0]) for k in ('start', 'end', 'step'))
        points, t = [], start
        while t <= end:
            points.append([t, '500'])
            t += step
        metric = {'__name__': 'DCGM_FI_DEV_POWER_USAGE', 'UUID': 'GPU-0aaaa', 'gpu': '0', 'Hostname': 'n1'}
        body = json.dumps({'status': 'success', 'data': {'resultType': 'matrix', 'result': [{'metric': metric,
                  'values': points}]}}).encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def prometheus():
    server = http.server.HTTPServer(('127.0.0.1', 0), Prometheus)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f'http://127.0.0.1:{server.server_port}'
    who = jobs('prom.csv', [f'1,n1,1,,{at(0)},{at(12 * 3600)},h200,ada,lab'])
    r = ask('--prometheus', url, '--jobs', who, '--from', at(0), '--to', at(12 * 3600), *PLAIN)
    check(near(row(r, '1')['gpu_j']['sampled'], 500 * 12 * 3600), 'a Prometheus is asked in pieces without a gap', (row(r, '1'),
              len(Prometheus.asked)))
    check(len(Prometheus.asked) > 2 and 'DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION' in Prometheus.asked[0]['query'][0],
          'for power and energy', Prometheus.asked[:1])
    server.shutdown()
    gone = run('energy', '--prometheus', 'http://127.0.0.1:9', '--since', '1h')
    check(gone.code == 5 and gone.out == '', 'one that is not there is exit code 5', gone)


def refusals():
    power, who = recording('r.csv'), jobs('r.jobs', [f'1,n1,1,,{at(0)},{at(60)},h200,a,b'])
    for args, code, words in (((), 2, 'nothing to report on'), (('--power', STATE + '/none.csv'), 3, 'none.csv'),
                              (('--power', write('junk.csv', 'x,y\n1,2\n')), 2, 'junk.csv:1'),
                              (('--power', write('junk.json', '{"status":"error","error":"boom"}')), None, 'boom'),
                              (('--jobs', write('j.csv', 'job,node,start,end\n1,n1,x,y\n')), 2, 'j.csv:2'),
                              (('--power', power, '--zone', 'Mars/Olympus'), 2, 'no time zone'),
                              (('--power', power, '--tariff', write('t.yaml', 'energy:\n  - {price_per_kwh: 1, hours: 8-9}\n')),
                               2, 'no rule of energy'),
                              (('--power', power, '--tariff', write('h.yaml', 'energy: hourly\n')), 2, '--prices FILE'),
                              (('--power', power, '--carbon', '9999'), 2, '--carbon'), (('--power', power, '--pue', '0.5'), 2,
              '--pue'),
                              (('--power', power, '--by', 'moon'), 2, '--by'), (('--jobs', who, '--tokens', '1=lots'), 3,
              'JOB=N'),
                              (('--power', power, '--from', at(60), '--to', at(0)), 2, 'later than')):
        done = run('energy', *args)
        check((done.code == code if code else done.code != 0) and done.out == '' and words in done.err,
              f'energy {" ".join(args[-2:])[-60:]} is refused', done)
    none = run('energy', 'record', '--nvml-library', '/nowhere.so')
    check(none.code == 5 and none.out == '', 'recording without a driver is exit code 5', none)


for part in (who_held_what, troubles, from_slurm, money, names_of_series, given_twice, tokens, several_nodes, other_money, caps,
             hours, prometheus, refusals):
    part()
finish()
