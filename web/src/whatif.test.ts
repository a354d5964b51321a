import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  bars_of, case_words, changes_something, cli_of, difference_text, duration_text, estimate_text, kNothing, kSettings, no_change,
  number_text, other_lines, parse_form, parse_lines, parse_setting, render_form, setting_now, titles, tool_input, with_setting,
  type Estimate, type Metric,
} from './whatif.js';

const estimate = (mean: number | null, half = 0): Estimate =>
  ({ n: 8, mean, low: mean === null ? null : mean - half, high: mean === null ? null : mean + half });
const metric = (change: Partial<Metric>): Metric => ({
  name: 'goodput_pct', title: 'goodput', unit: '%', difference_unit: 'points', decimals: 2, better: 'more', first: true,
  base: estimate(94, 1), changed: estimate(95, 1), difference: estimate(1, 0.5), outcome: 'better', p: 0.01, seeds_needed: 8,
  verdict: '', ...change,
});

test('a form goes into the address and comes back', () => {
  const form = { ...kNothing, add: '8', gone: 'node[001-002]', days: '14', id: 'ab12', set: [] as [string, string][] };
  form.set.push(['limits.out_cluster_pct', '20'], ['silent_after', '5m']);
  assert.deepEqual(parse_form(render_form(form)), form);
  assert.deepEqual(parse_form(''), kNothing);
  assert.equal(render_form(kNothing), '');
});

test('nonsense in the address is left aside', () => {
  assert.deepEqual(parse_form('set=nothing&set==4&set=a='), kNothing);
  assert.equal(parse_form(`add=${'9'.repeat(5000)}`).add.length, 200);
});

test('a question has numbers where they are numbers', () => {
  const typed = { ...kNothing, add: '8', spares: ' 2 ', weather: 'x3', mix: 'llm', seeds: 'many' };
  const form = with_setting(typed, 'silent_after', '5m');
  assert.deepEqual(tool_input(form), {
    add_nodes: 8, spares: 2, weather: 3, mix: 'llm', seeds: 'many', policy: { silent_after: '5m' },
  });
  assert.deepEqual(tool_input({ ...kNothing, gone: 'node1' }), { remove: ['node1'] });
});

test('something must change', () => {
  assert.equal(changes_something({ ...kNothing, days: '3' }), false);
  assert.equal(changes_something({ ...kNothing, spares: '0' }), true);
  assert.equal(changes_something(with_setting(kNothing, 'a.b', '1')), true);
});

test('the command asks the same', () => {
  const form = with_setting({ ...kNothing, add: '8', gone: 'node[1-2]', days: '3', mix: 'llm' }, 'limits.out_cluster_pct', '20');
  assert.equal(cli_of(form),
    "muster whatif --set limits.out_cluster_pct=20 --add-nodes 8 --remove 'node[1-2]' --days 3 --jobs mix:llm");
  assert.equal(cli_of(kNothing), 'muster whatif --help');
});

test('what is so already is no change', () => {
  const policy = { limits: { out_cluster_pct: 10, out_rack_pct: 30 }, silent_after: 180e9, scheduling: { backfill: true } };
  const same = with_setting(kNothing, 'limits.out_cluster_pct', '10');
  assert.equal(no_change(same, policy), 'limits.out_cluster_pct 10 instead of 10: nothing changes.');
  assert.notEqual(no_change(with_setting(same, 'scheduling.backfill', 'true'), policy), '');
  assert.notEqual(no_change(with_setting(kNothing, 'silent_after', '3m'), policy), '');
  assert.equal(no_change(with_setting(same, 'limits.out_rack_pct', '31'), policy), '', 'one of two changes');
  assert.equal(no_change({ ...same, add: '4' }, policy), '');
  assert.equal(no_change(same, null), '', 'the server knows better');
  assert.equal(no_change(kNothing, policy), '');
});

test('two of the same change are told apart', () => {
  const one = { id: 'a', state: 'done', done: 1, command: '', cpu_s_about: 1, changes: ['8 more nodes'] } as const;
  assert.equal(case_words({ ...one, changes: [], days: 3, seeds: 8, weather: 1, asked_utc: '2026-11-15T14:03:04Z' }),
    '3 days, 8 seeds, faults at x1, asked at 2026-11-15 14:03 UTC');
  assert.equal(case_words({ ...one, changes: [] }), '', 'an older server does not say');
});

test('settings are read from the policy in force', () => {
  const policy = { limits: { out_cluster_pct: 10 }, silent_after: 180e9, scheduling: { backfill: true } };
  assert.equal(setting_now(policy, 'limits.out_cluster_pct', 'number'), '10');
  assert.equal(setting_now(policy, 'silent_after', 'time'), '3m');
  assert.equal(setting_now(policy, 'scheduling.backfill', 'flag'), 'true');
  assert.equal(setting_now(policy, 'lemons.score', 'number'), '');
  assert.equal(setting_now(null, 'lemons.score', 'number'), '');
});

test('durations have the largest unit that is whole', () => {
  assert.equal(duration_text(20e9), '20s');
  assert.equal(duration_text(90e9), '90s');
  assert.equal(duration_text(8 * 3600e9), '8h');
  assert.equal(duration_text(0), '0s');
});

test('a setting is given and taken back', () => {
  const given = with_setting(kNothing, 'silent_after', '5m');
  assert.deepEqual(with_setting(given, 'silent_after', '6m').set, [['silent_after', '6m']]);
  assert.deepEqual(with_setting(given, 'silent_after', ' ').set, []);
});

test('settings without a field are lines', () => {
  const form = with_setting(with_setting(kNothing, 'temp_throttle_c', '90'), kSettings[0]!.key, '5');
  assert.equal(other_lines(form), 'temp_throttle_c=90');
  assert.deepEqual(parse_lines(' a.b = 4 \n\nnonsense\nc=x=y'), { set: [['a.b', '4'], ['c', 'x=y']], wrong: ['nonsense'] });
  assert.equal(parse_setting('=4'), null);
});

test('what is better and what is worse is named', () => {
  const all = [
    metric({ name: 'a', outcome: 'same', first: false }), metric({ name: 'b', outcome: 'not_shown' }),
    metric({ name: 'c', outcome: 'worse', first: false, title: 'MTTR' }), metric({ name: 'd' }),
  ];
  assert.equal(titles(all, 'better'), 'goodput');
  assert.equal(titles(all, 'worse'), 'MTTR');
  assert.equal(titles(all, 'same'), '');
});

test('figures as people read them', () => {
  assert.equal(estimate_text(estimate(94.083, 0.812), 2), '94.08 ± 0.81');
  assert.equal(estimate_text({ n: 1, mean: 4, low: null, high: null }, 1), '4.0');
  assert.equal(estimate_text(estimate(null), 1), '–');
  assert.equal(estimate_text({ n: 4, mean: 7.3, low: 7, high: 7.6 }, 1, 6), '7.3 ± 0.3 (n=4)', 'only some seeds have a value');
  assert.equal(estimate_text({ n: 6, mean: 7.3, low: null, high: null }, 1, 6), '7.3');
  assert.equal(difference_text(metric({})), '+1.00 (0.50 to 1.50)');
  assert.equal(difference_text(metric({ difference: estimate(null) })), '–');
  assert.equal(number_text(-0.001, 2), '0.00');
});

test('bars are to one scale, from 0 on', () => {
  const plain = bars_of(metric({ base: estimate(2, 1), changed: estimate(8, 2) }))!;
  assert.equal(plain.end, 10);
  assert.ok(Math.abs(plain.base.width - 0.2) < 1e-9 && Math.abs(plain.changed.high - 1) < 1e-9);
  const near = bars_of(metric({}))!;
  assert.ok(Math.abs(near.changed.width / near.base.width - 95 / 94) < 1e-9, 'lengths are as the values');
  for (const { low, width, high } of [near.base, near.changed]) assert.ok(low >= 0 && low <= width && width <= high && high <= 1);
  assert.equal(bars_of(metric({ base: estimate(null) })), null);
  assert.equal(bars_of(metric({ base: estimate(0), changed: estimate(0) })), null);
});
