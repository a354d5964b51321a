#!/usr/bin/env python3
"""Predictions as their users meet them: tables that come back with columns added, refusals that teach, and the page of claims in
step with what is computed."""
import csv
import io
import json
import os

from checks import STATE, check, finish, run

TABLE = ('collective,gpu,nodes,gpus,fabric,nccl,size_bytes,time_us,algbw_gb_s,busbw_gb_s,dtype,source\n'
         'all_reduce,H100 SXM,4,32,8x400G NDR InfiniBand,,1073741824,,,,float,"x, y"\n'
         'all_reduce,H100 SXM,4,32,8x400G NDR InfiniBand,,large,,,,float,z\n')
with open(f'{STATE}/c.csv', 'w') as f:
    f.write(TABLE)
ran = run('predict', 'collective', '--batch', f'{STATE}/c.csv', '-o', 'csv')
rows = list(csv.DictReader(io.StringIO(ran.out)))
check(ran.code == 0 and len(rows) == 2 and list(rows[0])[:12] == TABLE.split('\n')[0].split(','), 'rows come back as they were',
      ran)
check(float(rows[0]['low']) < float(rows[0]['predicted_time_us']) < float(rows[0]['high']) and rows[0]['basis'] == 'extrapolated',
      'with a prediction between its bounds', rows[0])
check(rows[1]['basis'] == 'none: it does not say how many bytes' and rows[1]['source'] == 'z', 'or why there is none', rows[1])
# 1 GiB among 32 H100 cannot be faster than eight cards of 50 GB/s a node allow.
check(float(rows[0]['predicted_time_us']) > 1e6 * 2 * 31 / 32 * 2**30 / 400e9, 'and none beyond the links')

with open(f'{STATE}/t.csv', 'w') as f:
    f.write('# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,tensor parallelism,'
            'data parallelism,pipeline parallelism,iteration time (ms),source\n8,32,4,1024,16,24,1024,2,2,2,219.73,s\n')
ran = run('plan', 'predict', '--batch', f'{STATE}/t.csv', '-o', 'csv')
row = next(csv.DictReader(io.StringIO(ran.out)), {})
check(row.get('# GPUs') == '8' and 'predicted_iteration time (ms)' in row and row['basis'] == 'calibrated',
      'columns of training runs keep their names too', ran)

for words, part in ((['--gpu', 'h100', '--gpus', '12'], 'no whole NVLink domains'),
                    (['--gpu', 'h1000', '--gpus', '16'], 'no GPU is called'),
                    (['--gpu', 'h100'], 'on which GPUs'),
                    (['--gpu', 'h100', '--gpus', '16', '--bytes', '-3'], '--bytes'),
                    (['--gpu', 'h100', '--gpus', '16', '--radix', '8'], '--fabric'),
                    (['--gpu', 'h100', '--gpus', '4096', '--fabric', 'fat_tree', '--radix', '4', '--levels', '2'], 'reach'),
                    (['--batch', f'{STATE}/none.csv'], 'none.csv')):
    ran = run('predict', 'collective', *words)
    check(ran.code != 0 and part in ran.err and 'next:' in ran.err, f'refused with a way out: {" ".join(words)[:60]}', ran)

ran = run('predict', 'collective', '--gpu', 'h100', '--gpus', '64', '--bytes', '1GiB', '--all', '--sharp')
check(all(name in ran.out for name in ('Ring', 'Tree', 'NVLSTree', 'CollNet')), 'every algorithm on request', ran)

with open(f'{STATE}/config.json', 'w') as f:
    f.write('{"model_type": "llama", "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 14336,'
            '"num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 128256}')
GPUS = ('--gpu', 'h100', '--gpus', '64', '--batch', '256')
ours, theirs = run('plan', '--model', 'llama3-8b', *GPUS), run('plan', '--model', f'{STATE}/config.json', *GPUS)
check(ours.code == 0 and ours.out == theirs.out, 'a config.json is planned as the model it is', theirs)
arguments = run('plan', '--model', 'llama3-8b', *GPUS, '--launch', 'megatron').out
with open(f'{STATE}/args.sh', 'w') as f:
    f.write(arguments + ' --vocab-size 128256')
again = run('plan', '--model', f'{STATE}/args.sh', *GPUS)
check(again.out == ours.out, 'and so are the arguments that Muster itself prints', again)
ran = run('plan', '--model', f'{STATE}/c.csv', *GPUS)
check(ran.code == 2 and 'num-layers is missing' in ran.err, 'what is no configuration is said', ran)
ran = run('plan', '--model', 'lama3-8b', *GPUS)
check(ran.code == 3 and 'llama3-8b' in ran.err and 'config.json' in ran.err, 'nor is a name that is not known', ran)

with open(f'{STATE}/ds.json', 'w') as f:
    f.write('{"train_batch_size": 256, "train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 4,'
            '"zero_optimization": {"stage": 3}}')
ran = run('plan', '--model', 'llama3-8b', '--gpu', 'h100', '--config', f'{STATE}/ds.json', '-o', 'json')
told = json.loads(ran.out)
split = told['plans'][0]['split']
check(told['gpus'] == 64 and (split['data'], split['pipeline'], split['micro_batch'], split['shard']) == (64, 1, 1, 'weights'),
      "DeepSpeed's configuration is planned as it is", told)
ran = run('plan', '--model', 'llama3-8b', '--gpu', 'h100', '--config', f'{STATE}/config.json')
check(ran.code == 2 and 'no configuration of DeepSpeed' in ran.err and 'next:' in ran.err, 'nothing else is taken for one', ran)
ran = run('plan', '--model', 'llama3-8b', '--gpu', 'h100', '--config', __file__)
check(ran.code == 2 and 'next:' in ran.err, 'nor is what is neither JSON nor YAML', ran)

with open(f'{STATE}/fsdp.yaml', 'w') as f:
    f.write('distributed_type: FSDP\nmixed_precision: bf16\nnum_processes: 16\nfsdp_config:\n'
            '  fsdp_sharding_strategy: HYBRID_SHARD\n  fsdp_activation_checkpointing: true\n')
for gpus, ranks in (('16', 8), ('8', None)):
    ran = run('plan', '--model', 'llama3-8b', '--gpu', 'h100', '--gpus', gpus, '--seq', '4096', '--config', f'{STATE}/fsdp.yaml',
              '-o', 'json')
    split = json.loads(ran.out)['plans'][0]['split']
    check((split.get('shard_ranks'), split['recompute'], split.get('recompute_layers')) == (ranks, 'full', None),
          f'FSDP with a copy a node, on {gpus} GPUs', ran)

RUN = ('plan', '--model', 'llama3-8b', *GPUS, '--tokens', '1T')
ran = run(*RUN, '--by', '2200-01-31', '--price', '2', '--budget', '100', '--svg', f'{STATE}/p.svg', '-o', 'json')
told = json.loads(ran.out)
check(ran.code == 6 and not told['run']['late'] and told['run']['over_budget'] and 'pays for' in ran.err,
      'a run that costs too much is in time, and a finding', ran)
check(len(told['plans']) == 5 and abs(sum(told['plans'][0]['parts_s'].values()) / told['plans'][0]['step_s'] - 1) < 0.01,
      'plans for programs, with parts that sum to the step', told)
check(open(f'{STATE}/p.svg').read().count('<rect') > 6, 'and a chart', ran)
for words, part in ((['--by', '2026-02-30'], '--by must be a day'), (['--by', '2020-01-01'], 'a day that is over'),
                    (['--budget', '5'], '--price'), (['--svg', f'{STATE}/none/p.svg'], 'cannot')):
    ran = run(*RUN, *words)
    check(ran.code not in (0, 6) and part in ran.err and 'next:' in ran.err, f'refused with a way out: {words[0]} {part}', ran)

ran = run('plan', 'explain', '--model', 'llama3-70b', '--gpu', 'h100', '--gpus', '256', '--tp', '8', '--pp', '4', '-o', 'csv')
rows = list(csv.DictReader(io.StringIO(ran.out)))
said = ran.err.replace(" with sequence parallelism", "")
check(ran.code == 0 and abs(sum(float(r["share_pct"]) for r in rows) - 100) < 2 and "TP 8, PP 4" in said,
      'a settled plan down to its operators, which sum to the step', ran)

ran = run('design', 'cluster', '--gpus', '1024', '--gpu', 'h200', '-o', 'csv')
rows = list(csv.DictReader(io.StringIO(ran.out)))
check(ran.code == 0 and len(rows) == 3 and all(float(r['capital']) > 30 for r in rows) and any(r['best'] == 'yes' for r in rows),
      'designs of a cluster, compared', ran)
ran = run('design', 'cluster', '--gpus', '1024', '--gpu', 'h200', '-o', 'json')
told = json.loads(ran.out)
check(ran.code == 0 and [d['number'] for d in told['designs']] == [1, 2, 3] and told['designs'][0]['front']
      and all(abs(sum(d['parts_usd'].values()) - d['usd']) < 1 for d in told['designs']), 'and as JSON, with money in parts', ran)
ran = run('design', 'cluster', '--gpus', '1024', '--gpu', 'h200', '--show', '2', '-o', 'json')
check(json.loads(ran.out) == told['designs'][1], 'or one of them', ran)
with open(f'{STATE}/cluster.yaml', 'w') as f:
    f.write(run('design', 'cluster', '--gpus', '1024', '--gpu', 'h200', '--show', '1', '--emit', 'cluster').out)
ran = run('twin', 'run', '--cluster', f'{STATE}/cluster.yaml', '--days', '0.2', '-o', 'json')
check(ran.code == 0 and '1024' in ran.out, 'the twin runs the file of one as it is', ran)
with open(f'{STATE}/fabric.net', 'w') as f:
    f.write(run('design', 'cluster', '--gpus', '256', '--gpu', 'h200', '--emit', 'fabric').out)
ran = run('predict', 'fabric', '--net', f'{STATE}/fabric.net', '--adaptive', '--every', '50', '--pairs', '2')
check(ran.code == 0, 'and its network can be judged', ran)
JUDGE = ('predict', 'fabric', '--net', f'{STATE}/fabric.net', '--every', '50', '--pairs', '2', '-o', 'csv')
shares = [float(next(csv.DictReader(io.StringIO(run(*JUDGE, *more).out)))['share_mean'])
          for more in ((), ('--cut', '40'), ('--beside', '50'), ('--paused',))]
check(shares[1] < shares[0] and shares[3] < shares[0] and 0 < shares[2] != shares[0],
      'cut cables and pauses cost something, other jobs are seen', shares)
ran = run(*JUDGE, '--cut', '100000')
check(ran.code == 2 and 'join switches' in ran.err, 'no more can be cut than there are', ran)
with open(f'{STATE}/prices.csv', 'w') as f:
    f.write('item,usd\ngpu h200,-5\n')
for words, part in ((['--gpus', '1024', '--days', '5'], 'either'),
                    (['--days', '5'], 'which run'),
                    (['--gpus', '1024', '--gpu', 'h200', '--prices', f'{STATE}/prices.csv'], 'must be a number of 0 or more'),
                    (['--gpus', '65536', '--gpu', 'h200', '--radix', '8'], 'reach'),
                    (['--gpus', '1024', '--grow-to', '512'], 'do not grow'),
                    (['--gpus', '1024', '--gpu', 'h200', '--show', '9'], 'no design 9')):
    ran = run('design', 'cluster', *words)
    check(ran.code != 0 and part in ran.err and 'next:' in ran.err, f'refused with a way out: {" ".join(words)[:60]}', ran)

# A stand-in for Python that hands the shapes back: those that ship have an H200's times beside them.
with open(f'{STATE}/python', 'w') as f:
    f.write('#!/bin/sh\nexec cat\n')
os.chmod(f'{STATE}/python', 0o755)
ran = run('calibrate', 'gpu', '--python', f'{STATE}/python', '--timings', f'{STATE}/timings.csv')
rows = list(csv.DictReader(io.StringIO(ran.out)))
check(ran.code == 0 and [r['gpu'] + r['dtype'] for r in rows] == ['h200bf16', 'h200fp8'] and rows[0]['release'] == '2.11.0',
      'what a GPU was measured to take is a calibration of its own', ran)
check('KIND' in ran.err and 'all of them' in ran.err, 'with how far off it is on what it was not fitted on', ran)
with open(f'{STATE}/here.csv', 'w') as f:
    f.write(ran.out)
check(run('calibrate', 'gpu', '--from', f'{STATE}/timings.csv').out == ran.out, 'what was kept of it gives the same', ran)
ON_H200 = ('plan', '--model', 'llama3-8b', '--gpu', 'h200', '--gpus', '64', '--batch', '256')
own, usual = run(*ON_H200, '--calibration', f'{STATE}/here.csv'), run(*ON_H200)
check(own.code == 0 and own.out != usual.out and 'of pytorch on h200' in own.err, 'plans go by it', own)
ran = run('plan', '--model', 'llama3-8b', *GPUS, '--calibration', f'{STATE}/here.csv')
check(ran.code == 3 and 'nothing of h100' in ran.err, 'but not for another GPU', ran)
ran = run('bench', 'kernels', '--timings', f'{STATE}/timings.csv', '--rows', '-o', 'csv')
check(ran.code == 0 and len(ran.out.splitlines()) > 150, 'each shape beside what was predicted of it', ran)
with open(f'{STATE}/shapes.csv', 'w') as f:
    f.write('kind,dtype,m,n,k,groups,forward_us,backward_us,note\nfft,bf16,1,1,1,1,,,\n')
for words, part in ((['--python', f'{STATE}/nowhere'], 'could not be started'),
                    (['--python', '/bin/false'], 'measured nothing'),
                    (['--shapes', f'{STATE}/shapes.csv'], "kind 'fft' is not known"),
                    (['--timings', f'{STATE}/none/t.csv'], 'cannot write'),
                    (['--from', f'{STATE}/c.csv'], 'kind')):
    ran = run('calibrate', 'gpu', *words)
    check(ran.code != 0 and part in ran.err and 'next:' in ran.err, f'refused with a way out: {words[0]} {part}', ran)

page = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'docs', 'claims.md')).read()
ran = run('bench', 'claims', '-o', 'csv')
rows = list(csv.DictReader(io.StringIO(ran.out)))
check(len(rows) == 23, 'every claim has an answer', ran)
for r in rows:
    parts = [r['claim'], r['figure'], r['because'], f"| {r['id']} | {r['verdict']} |"]
    check(all(p in page for p in parts), f"docs/claims.md says what is computed: {r['id']}", [p for p in parts if p not in page])
finish()
