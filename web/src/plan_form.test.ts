import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  cli_of, kDesignStart, kPlanStart, launch_cli, launch_input, parse_form, render_form, show_cli, tool_input, type Form,
} from './plan_form.js';

const plan = (change: Partial<Form['plan']>): Form => ({ ...parse_form(''), plan: { ...kPlanStart, ...change } });
const design = (change: Partial<Form['design']>, need: Form['need'] = 'gpus'): Form =>
  ({ ...parse_form('tab=design'), need, design: { ...kDesignStart, ...change } });

test('an empty address asks nothing and offers what is usual', () => {
  const form = parse_form('');
  assert.deepEqual([form.tab, form.asked, form.pick, form.launch], ['plan', false, 1, '']);
  assert.deepEqual(form.plan, kPlanStart);
  assert.equal(parse_form('tab=design').asked, false);
  assert.equal(parse_form('tab=nonsense').tab, 'plan');
});

test('a question comes back from the address as it was asked', () => {
  for (const form of [
    plan({ gpu: 'h200', gpus: '512', tokens: '15T', by: '2027-01-31' }),
    plan({ batch: '' }),
    { ...plan({}), pick: 3, launch: 'megatron' },
    { ...design({ gpu: 'h100, h200', grow_to: '4096' }), pick: 2 },
  ]) {
    const again = parse_form(render_form(form));
    assert.ok(again.asked);
    assert.equal(render_form(again), render_form(form));
    assert.deepEqual(tool_input(again), tool_input(form));
    assert.deepEqual([again.tab, again.need, again.pick, again.launch], [form.tab, form.need, form.pick, form.launch]);
  }
});

test('what a question leaves out stays left out', () => {
  assert.equal(parse_form('model=x').plan.batch, '', 'the server has its own usual values');
  assert.deepEqual(tool_input(parse_form('model=x')), { model: 'x', here: true });
});

test('no GPU is this cluster', () => {
  assert.deepEqual(tool_input(plan({})), { model: 'llama3-70b', batch: '1024', seq: '8192', here: true });
  assert.deepEqual(tool_input(plan({ gpu: 'h200', gpus: '64' })),
    { model: 'llama3-70b', gpu: 'h200', gpus: '64', batch: '1024', seq: '8192' });
});

test('a design is for a run in time or for so many GPUs', () => {
  const run = tool_input(design({}, 'run'));
  assert.equal(run['days'], '60');
  assert.ok(!('gpus' in run));
  const gpus = tool_input(design({ tokens: '' }));
  assert.deepEqual(gpus, { gpus: '1024', batch: '1024', seq: '8192' });
  assert.equal(parse_form(render_form(design({}, 'run'))).need, 'run');
  assert.equal(parse_form(render_form(design({}))).need, 'gpus');
});

test('the command asks the same', () => {
  assert.equal(cli_of(plan({})), 'muster plan --model llama3-70b --here --batch 1024 --seq 8192');
  assert.equal(cli_of(plan({ gpu: 'h200', gpus: '64', dtype: 'fp8' })),
    'muster plan --model llama3-70b --gpu h200 --gpus 64 --batch 1024 --seq 8192 --dtype fp8');
  assert.equal(cli_of(design({ tokens: '', grow_to: '4096' })),
    'muster design cluster --gpus 1024 --grow-to 4096 --batch 1024 --seq 8192');
  assert.equal(cli_of(design({}, 'run')),
    'muster design cluster --model llama3-70b --tokens 15T --days 60 --batch 1024 --seq 8192');
  assert.ok(show_cli({ ...design({}), pick: 2 }).endsWith(' --show 2'));
  const framework = { ...plan({}), launch: 'megatron' };
  assert.ok(launch_cli(framework).endsWith(' --launch megatron'));
  assert.equal(launch_input(framework)['launch'], 'megatron');
});

test('what was typed cannot become another command', () => {
  assert.equal(cli_of(plan({ model: '$(reboot)', gpu: 'a b', gpus: '-1' })),
    "muster plan --model '$(reboot)' --gpu 'a b' --gpus=-1 --batch 1024 --seq 8192");
});

test('an address that nobody wrote is cut to size', () => {
  const form = parse_form(`model=${'x'.repeat(5000)}&pick=1e9&launch=${'y'.repeat(5000)}`);
  assert.equal(form.plan.model.length, 100);
  assert.equal(form.pick, 1);
  assert.equal(form.launch.length, 100);
});
