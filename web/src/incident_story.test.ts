import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  cost_words, escape_markdown, expand_nodes, find_runbook, fits, headline, headline_of, incident_of_finding,
  length_words, moment_kind, moment_words,
  of_cause, open_ended, parse_filter, sort_by, sort_rows, to_markdown, track, waits_for, witnesses, type Decision, type Policy,
  type Report, type Runbook,
} from './incident_story.js';
import type { Approval, Incident } from './types.js';

function decision(verb: string, status = 'done', at_utc = '2026-01-01T00:01:00Z'): Decision {
  return {
    key: `j-${verb}`, event: 2, at_utc, what: `${verb} n2`, verb, job: '', sentence: 'why', rule: 'recover/gpu_lost/x',
    rules_version: 5, muster_version: '1.0', policy: { name: 'default', hash: 'abc' }, actor: 'muster', wish: null,
    evidence: [], alternatives: [], alternatives_beside: [], placement: '', budget: 'needs none', held_back_before: [],
    outcome: { status, detail: '', at_utc, took_s: status === 'pending' ? null : 90 },
  };
}

function report(change: Partial<Report> = {}): Report {
  return {
    incident: 9, title: 'Incident 9: a lost GPU on n2', summary: 'It broke.', cluster: 'small', status: 'open',
    stage: 'repairing', cause: 'gpu_lost', first_sign_utc: '2026-01-01T00:00:00Z', opened_utc: '2026-01-01T00:00:20Z',
    closed_utc: null, total_s: 3600, phases: [], timeline: [], timeline_left_out: 0,
    affected: {
      where: 'n2, GPU 3', node: 'n2', rack: 'r0', gpu_slot: 3, pci: '', uuid: '', serial: '', nic: '', cable: '',
      gpu_model: 'H200', jobs: [], jobs_present: [], jobs_slowed: [], lost_gpu_hours: 12.5, starting_gpu_hours: 0,
      slow_gpu_hours: 0, out_of_service_gpu_hours: 8, total_gpu_hours: 20.5, currency: 'USD', price_assumed: '',
      money: null, price_per_gpu_hour: null, replaced: [],
    },
    findings: [], evidence: [], evidence_left_out: 0, decisions: [], decisions_left_out: 0, held_back: [], frozen: [],
    resolution: '', what_now: '', dossier: '',
    record: { journal: 'j', events: 9, digest: 'd', first_event: 1, last_event: 9, as_of_utc: '2026-01-01T01:00:00Z' },
    ...change,
  };
}

function runbook(kind: string, steps: string[], codes: number[] = []): Runbook {
  return { name: kind, version: 1, kind, codes, act: true, job: 'wait', test_first: false, window: false, steps, skip_7d: 2,
    last_28d: 5 };
}

function incident(id: number, change: Partial<Incident> = {}): Incident {
  return {
    id, node: `n${id}`, gpu_slot: null, cause: 'gpu_lost', code: 79, stage: 'closed', rung: 0, job: '',
    opened_utc: `2026-01-01T0${id}:00:00Z`, closed_utc: `2026-01-01T0${id}:30:00Z`, resolution: 'back in service', findings: [],
    notes: [], actions: [], ...change,
  };
}

test('a headline says what, where, since when, and what it cost', () => {
  const h = headline(report());
  assert.equal(h.what, 'GPU fell off the bus');
  assert.equal(h.where, 'n2 GPU 3');
  assert.equal(h.lasted_ms, 3_600_000);
  assert.equal(h.state, 'repairing');
  assert.equal(h.cost, '20.5 GPU-hours: 12.5 of work lost since checkpoints, 8.0 out of service');
  assert.equal(headline(report({ status: 'closed', resolution: 'back in service' })).state, 'back in service');
  assert.equal(headline_of(incident(1, { node: '' }), '').where, 'the whole site');
  const subject = 'missing_cable leaf03[17] - spine02[4]';
  const cable = { node: '', cause: 'fabric_fault', subject, where: { words: 'leaf switch 1' } };
  assert.equal(headline_of(incident(1, cable), '').where, 'leaf switch 1: missing_cable leaf03[17] - spine02[4]');
  assert.ok(fits(incident(1, cable), parse_filter('spine02[4]')));
  const failed = { cause: 'acceptance_failed', code: 1, gpu_slot: 3, subject: 'SMs: SM 17' };
  assert.equal(headline_of(incident(2, failed), '').where, 'n2 GPU 3: SMs: SM 17');
});

test('money is told only where the site has a price', () => {
  const { affected } = report();
  assert.match(cost_words({ ...affected, money: 51.25 }), /51\.25 USD$/);
  assert.match(cost_words({ ...affected, money: 51.25, price_assumed: 'H100 2.50 USD' }),
    /51\.25 USD \(assumed: H100 2\.50 USD\)$/);
  assert.match(cost_words({ ...affected, slow_gpu_hours: 3, starting_gpu_hours: 1.5 }),
    /1\.5 of starts in vain, 3\.0 of gangs that were slow, 8\.0 out of service$/);
  assert.match(cost_words({ ...affected, total_gpu_hours: 0 }), /^no GPU-hours: no work was lost/);
  assert.match(cost_words({ ...affected, total_gpu_hours: 0, node: '' }), /not counted/);
});

test('before the report has come the list of incidents gives the headline, without a cost', () => {
  const h = headline_of(incident(1, { closed_utc: null, stage: 'held' }), '2026-01-01T03:00:00Z');
  assert.equal(h.lasted_ms, 7_200_000);
  assert.equal(h.state, 'held: a person has it');
  assert.equal(h.cost, '');
});

test('short lengths keep their digits, and other days their date', () => {
  assert.equal(length_words(0.7305), '731 ms');
  assert.equal(length_words(1.82), '1.8 s');
  assert.equal(length_words(252), '4 min 12 s');
  assert.equal(moment_words('2026-01-01T23:00:01Z', '2026-01-01T00:00:00Z'), '23:00:01');
  assert.equal(moment_words('2026-01-02T01:00:01Z', '2026-01-01T00:00:00Z'), '01-02 01:00:01');
  assert.equal(moment_words(null, '2026-01-01T00:00:00Z'), '–');
});

test('each witness is named once', () => {
  const e = (witness: string) => ({ witness, at_utc: '', text: '' });
  assert.deepEqual(witnesses([e('kernel_log'), e('scrape'), e('kernel_log')]), ['kernel log', 'metrics']);
});

test('a track has what was done, and what is left of the runbook', () => {
  const book = runbook('gpu_lost', ['reboot_node', 'power_cycle_node', 'replace_node']);
  const decisions = [decision('drain_node'), decision('reboot_node', 'failed'), decision('test_node', 'pending')];
  const open = report({ decisions });
  assert.deepEqual(track(open, book, []).map((s) => [s.verb, s.state]), [
    ['drain_node', 'done'], ['reboot_node', 'failed'], ['test_node', 'under_way'],
    ['power_cycle_node', 'later'], ['replace_node', 'later'],
  ]);
  assert.equal(track(open, book, [])[0]!.words, 'done after 1 min 30 s');
  const closed = report({ ...open, status: 'closed' });
  assert.deepEqual(track(closed, book, []).map((s) => s.state).slice(3), ['not_needed', 'not_needed']);
  assert.equal(track(closed, null, []).length, 3, 'what is not known is not told');
});

test('what waits for a person or is held back is a step of its own', () => {
  const approval: Approval = { id: 4, verb: 'reset_gpu', node: 'n2', job: '', incident: 9, why: 'the policy wants it',
    sentence: '', asked: '2026-01-01T00:02:00Z', state: 'waiting', by: '', answer: '' };
  const book = runbook('gpu_lost', ['reset_gpu', 'replace_node']);
  assert.deepEqual(track(report(), book, [approval]).map((s) => [s.verb, s.state]),
    [['reset_gpu', 'waits'], ['replace_node', 'later']]);
  const held = { at_utc: '2026-01-01T00:00:30Z', last_utc: '2026-01-01T00:00:50Z', times: 2, verb: 'drain_node', rule: '',
    limit: '2 of 2 are' };
  assert.equal(track(report({ held_back: [held] }), null, [])[0]!.words, 'held back by a safety limit, 2 times');
  assert.equal(track(report({ held_back: [held], decisions: [decision('drain_node')] }), null, []).length, 1, 'it passed later');
});

test('the runbook is that of the group, then of the code, then of the kind', () => {
  const any = runbook('ecc_uncorrectable', ['reset_gpu']);
  const coded = runbook('ecc_uncorrectable', ['reboot_node'], [95]);
  const own = runbook('ecc_uncorrectable', ['replace_node']);
  const policy: Policy = { name: 'p', runbooks: [any, coded],
    groups: [{ name: 'g', nodes: 'n[1-3]', shadow: false, runbooks: [own] }] };
  assert.equal(find_runbook(policy, 'n9', 'ecc_uncorrectable', 94), any);
  assert.equal(find_runbook(policy, 'n9', 'ecc_uncorrectable', 95), coded);
  assert.equal(find_runbook(policy, 'n2', 'ecc_uncorrectable', 95), own);
  assert.equal(find_runbook(policy, 'n2', 'gpu_lost', 79), undefined);
});

test('lists of nodes are written out', () => {
  assert.deepEqual(expand_nodes('node[0049-0051,0060]'), ['node0049', 'node0050', 'node0051', 'node0060']);
  assert.deepEqual(expand_nodes('a1, b[8-10]-x'), ['a1', 'b8-x', 'b9-x', 'b10-x']);
  assert.deepEqual(expand_nodes(''), []);
  assert.deepEqual(expand_nodes('n[x-9]'), []);
  assert.equal(expand_nodes('n[1-999999999]').length, 4096);
});

test('a finding leads to its incident', () => {
  const with_finding = incident(2, { findings: [{ id: 10, kind: 'common_cause', severity: 'critical', node: '', gpu_slot: null,
    opened_utc: null, cleared_utc: null, evidence: [] }] });
  assert.equal(incident_of_finding([incident(1), with_finding], 10), with_finding);
  assert.equal(incident_of_finding([with_finding], 0), undefined);
});

test('a filter is words, of a column or of any', () => {
  const i = incident(1, { job: '32' });
  for (const q of ['', 'gpu_lost', 'fell off', 'xid', 'cause:gpu', 'node:n1', 'job:32', 'stage:closed resolution:back', '#1']) {
    assert.ok(fits(i, parse_filter(q)), q);
  }
  for (const q of ['node:n2', 'job:9', 'cause:n1', 'gpu_lost nothing']) assert.ok(!fits(i, parse_filter(q)), q);
});

test('the newest is first unless another order is in the filter', () => {
  const rows = [incident(1), incident(3, { closed_utc: '2026-01-01T03:05:00Z' }), incident(2)];
  const ids = (q: string) => sort_rows(rows, parse_filter(q), '2026-01-02T00:00:00Z').map((i) => i.id);
  assert.deepEqual(ids(''), [3, 2, 1]);
  assert.deepEqual(ids('sort:took'), [3, 1, 2]);
  assert.deepEqual(ids('sort:-id'), [3, 2, 1]);
  assert.deepEqual(ids('sort:nonsense'), [3, 2, 1]);
  assert.equal(sort_by('cause:x', 'took'), 'cause:x sort:took');
  assert.equal(sort_by('cause:x sort:took', 'took'), 'cause:x sort:-took');
  assert.equal(of_cause('cause:x n1', 'gpu_lost'), 'n1 cause:gpu_lost');
  assert.equal(of_cause('cause:x n1', ''), 'n1');
});

test('words typed behind a filter of a column are words of their own', () => {
  assert.equal(open_ended('cause:gpu_lost'), 'cause:gpu_lost ');
  for (const q of ['', 'node0050', 'cause:', 'cause:gpu_lost ', 'cause:x node']) assert.equal(open_ended(q), q);
});

test('a list says what an incident waits for of a person', () => {
  const swap = { verb: 'replace_node', status: 'pending' } as Incident['actions'][number];
  const asked = { id: 4, verb: 'reboot_node', incident: 1 } as Approval;
  const open = { closed_utc: null, stage: 'repairing' };
  assert.equal(waits_for(incident(1, { ...open, actions: [swap] }), []), 'the part or the node must be swapped');
  assert.equal(waits_for(incident(1, { ...open, actions: [{ ...swap, status: 'done' }] }), []), '');
  assert.equal(waits_for(incident(1, open), [asked]), 'approval 4, to reboot node');
  assert.equal(waits_for(incident(2, open), [asked]), '');
  const notes = [{ at_utc: null, text: 'tests fail' }];
  assert.equal(waits_for(incident(1, { ...open, stage: 'held', notes }), []), 'tests fail');
  assert.equal(waits_for(incident(1, { actions: [swap] }), []), '', 'a closed one waits for nobody');
});

test('Markdown has every part, and nothing in it can act', () => {
  const evil = '<img src=x> # [a](javascript:1) `x` \u001b[2J\u202e';
  const md = to_markdown(report({
    decisions: [decision('drain_node')],
    evidence: [{ witness: 'kernel_log', at_utc: '2026-01-01T00:00:00Z', text: evil, kind: 'gpu_lost', ref: '' }],
    timeline: [{ at_utc: '2026-01-01T00:00:00Z', after_s: 0, event: 1, what: `${evil}|x` }],
    resolution: evil, dossier: 'serial 7\n',
  }));
  for (const part of ['# Incident 9', '## How it ended', '## Timeline', '## Evidence', '### 2026', '## Dossier', 'digest d']) {
    assert.ok(md.includes(part), part);
  }
  assert.doesNotMatch(md, /[\u001b\u202e]/);
  assert.doesNotMatch(md.replace(/^    .*$/gm, ''), /(?<!\\)<img/, 'outside a block of code it is escaped');
  assert.equal(escape_markdown('a|b'), 'a\\|b');
});

test('moments are work, trouble or neither', () => {
  assert.equal(moment_kind('first sign, kernel_log: x'), 'trouble');
  assert.equal(moment_kind('drain_node held back: 2 of 2'), 'trouble');
  assert.equal(moment_kind('drain_node done after 730ms'), 'work');
  assert.equal(moment_kind('root asked to pause'), 'plain');
});
