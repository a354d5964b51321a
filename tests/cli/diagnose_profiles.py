#!/usr/bin/env python3
"""Training steps whose bottleneck is known, profiled on an H200 (tests/fixtures/profiles, made by
tests/live/gpu/gpu_profiles.py): what bounds each must be named, and what the first remedy is said to save must be near what it
saved when it was applied there. And four ranks of which one is slow (tests/fixtures/ranks, made by gpu_ranks.py)."""
import glob
import json
import os

from checks import STATE, check, finish, run

HERE = os.path.dirname(os.path.abspath(__file__))
FIXTURES = os.path.join(HERE, '..', 'fixtures')
NEAR = 10  # points
KINDS = ('compute', 'memory', 'communication', 'input', 'launch', 'sync', 'copy', 'pipeline')
# Which remedy was applied on the GPU, by a word that must be in the advice.
WORDS = {'tf32': 'set_float32_matmul_precision', 'fuse': 'torch.compile', 'fused optimizer': 'fused=True', 'graph': 'CUDAGraph',
         'workers': 'num_workers', 'pin': 'pin_memory', 'no wait': '.item()'}

labels = json.load(open(f'{FIXTURES}/profiles/labels.json'))
right, near, told = 0, 0, 0
for name, label in labels['cases'].items():
    ran = run('diagnose', '-o', 'json', f'{FIXTURES}/profiles/{name}.json.gz')
    if not check(ran.code == 0, f'{name} is read', ran):
        continue
    found = json.loads(ran.out)
    right += check(found['verdict']['bound'] == label['bound'], f'{name} is bound by {label["bound"]}', found['verdict'])
    shares = found['shares']
    check(abs(sum(shares.values()) - 100) < 1e-6, f'{name}: its shares are 100 % together', shares)
    rank = found['ranks'][0]
    for step in rank['steps']:
        check(sum(step['parts_ns'].values()) == step['ns'], f'{name}, {step["name"]}: its parts are the step to the nanosecond',
              step)
    check(rank['replay_off_pct'] <= 3, f'{name}: played again it takes what it took, to {rank["replay_off_pct"]:.2f} %')
    if 'gain_pct' not in label:
        continue
    first = found['findings'][0]
    gain = (first['gain_pct']['low'] + first['gain_pct']['high']) / 2
    told += 1
    close = abs(gain - label['gain_pct']) <= NEAR
    near += close
    check(WORDS[label['remedy']] in first['remedy'], f'{name}: {label["remedy"]} is advised first', first['remedy'])
    print(f'# {name}: {gain:.1f} % predicted, {label["gain_pct"]:.1f} % measured{"" if close else ", more than 10 points apart"}')
    check(first['evidence'] and first['expected'] and first['achieved'] and first['verify'],
          f'{name}: with evidence, what was expected and achieved, and how to see that it helped', first)
print(f'# the right bound in {right} of {len(labels["cases"])} profiles; the gain within {NEAR} points in {near} of {told}')
check(right == len(labels['cases']), 'every bound is right')
check(near >= told - 1 and told >= 5, f'the predicted gain is near the measured one in all but one of {told}', near)

# ---- four ranks
ranks = sorted(glob.glob(f'{FIXTURES}/ranks/*.gz'))
ran = run('diagnose', '-o', 'json', *ranks, '--price', '2.5')
found = json.loads(ran.out)
check(len(found['ranks']) == 4 and found['waits']['matched'] >= 8, 'exchanges of four ranks are matched', found.get('waits'))
first = found['findings'][0]
check('rank 2' in first['title'] and 'more to compute' in first['title'], 'and the slow one is named, with the reason', first)
check(first['gpu_hours_a_day']['low'] > 0 and first['dollars_a_day']['low'] > 0, 'in GPU-hours and money')
waited = [sum(step['waited_ns'][r] for step in found['waits']['steps']) for r in range(4)]
check(waited[2] * 50 < min(waited[0], waited[1], waited[3]), 'the others wait for it, and it for nobody', waited)
for one in found['ranks']:
    for step in one['steps']:
        check(sum(step['parts_ns'].values()) == step['ns'], f'rank {one["rank"]}: the parts of {step["name"]} are the step')
ran = run('diagnose', *ranks)
check(ran.code == 6 and 'All wait for rank 2' in ran.out and 'rank 3' in ran.out, 'in words', ran)
ran = run('diagnose', ranks[0])
check('one rank of 4' in ran.out, 'of one rank alone it says what that cannot tell', ran)

# ---- before and after, the overlay, the page
before, after = (f'{FIXTURES}/profiles/{n}.json.gz' for n in ('launch_mlp_512', 'launch_mlp_256'))
ran = run('diagnose', '--diff', before, after, '-o', 'json')
diff = json.loads(ran.out)
check(ran.code == 0 and diff['before_ms'] > diff['after_ms'] and diff['gain_pct'] > 20, 'two profiles are compared', ran)
check(abs(sum(v['before'] for v in diff['shares_ms'].values()) - diff['before_ms']) < 1e-6, 'with shares that sum to the step',
      diff['shares_ms'])
check('% less' in run('diagnose', '--diff', before, after).out, 'in words')
ran = run('diagnose', '--diff', before)
check(ran.code == 2 and 'BEFORE AFTER' in ran.err, 'one alone is refused', ran)
overlay = f'{STATE}/overlay.json'
ran = run('diagnose', before, '--perfetto', overlay)
events = json.load(open(overlay))['traceEvents']
check(ran.code == 0 and any(e.get('ph') == 'X' for e in events), 'an overlay for Perfetto is written', ran)
profile_starts = [s['ns'] for s in json.loads(run('diagnose', '-o', 'json', before).out)['ranks'][0]['steps']]
check(len(profile_starts) == 4, 'of all its steps', profile_starts)
ran = run('diagnose', '-o', 'html', *ranks)
check(ran.code == 6 and ran.out.startswith('<!') and '<svg' in ran.out and 'rank 2' in ran.out, 'and a page', ran.out[:300])
check('http:' not in ran.out and 'https:' not in ran.out, 'that needs nothing from elsewhere')

# ---- memory, as a real loop left it when it ran out (tests/live/gpu/gpu_memory.py)
ran = run('diagnose', '-o', 'json', f'{FIXTURES}/memory/fragments.pickle')
found = json.loads(ran.out)
check(ran.code == 6 and found['memory']['devices'][0]['oom']['cause'] == 'fragmented', 'a loop that ran out of memory: why', ran)
check(found['memory']['advice']['setting'] == 'expandable_segments:True', 'and which setting lets it run',
      found['memory']['advice'])
finish()
