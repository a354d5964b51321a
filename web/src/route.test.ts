import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  kHome, open_page, parse_view, read_odd, read_times, render_view, resolve_theme, typed_utc, utc_or_none, type View,
} from './route.js';

function again(view: View): View {
  const url = new URL(render_view(view), 'http://x');
  return parse_view(url.pathname, url.search);
}

test('a view survives the way through the URL', () => {
  const view: View = {
    page: 'jobs', id: '17_3', at: '2026-11-15T02:03:04Z', node: 'node 017/&?=', job: '17', incident: '12', leaf: 'l 3',
    jobs: 'queued', form: 'model=a&gpus=8', zoom: '1,2,3',
    colour: 'temp', q: 'a b', by: 'account', sort: '-gpus', theme: 'light',
    from: '2026-11-14T00:00:00Z', to: '2026-11-15T00:00:00Z',
  };
  assert.deepEqual(again(view), view);
  assert.deepEqual(again({ ...kHome, page: 'incidents', id: 'a/b ü' }), { ...kHome, page: 'incidents', id: 'a/b ü' });
  assert.match(render_view(view), /at=2026-11-15T02:03:04Z/, 'times stay readable');
});

test('the first view needs no query', () => {
  assert.equal(render_view(kHome), '/');
  assert.deepEqual(parse_view('/', ''), kHome);
});

test('what a URL says in error is ignored', () => {
  assert.deepEqual(parse_view('/nowhere/17', '?theme=pink&jobs=all&x=1&at=yesterday&colour=red'), kHome);
  assert.equal(parse_view('/', `?node=${'a'.repeat(10_000)}`).node.length, 256);
  assert.equal(parse_view('/jobs/%E0%A4%A', '').id, '');
  assert.equal(parse_view('/map/17', '').id, '', 'a map has no number');
});

test('the account is told by one of its ways, and only there', () => {
  assert.equal(again({ ...kHome, page: 'account', by: 'gpu_type' }).by, 'gpu_type');
  assert.equal(render_view({ ...kHome, page: 'account' }), '/account');
  assert.equal(parse_view('/account', '?by=colour').by, 'account');
  assert.match(read_odd('/account', '?by=colour')[0] ?? '', /^by is one of account, queue, .*, not “colour”$/);
  assert.deepEqual(read_odd('/account', '?by=user&q=held_idle'), []);
});

test('times are UTC, and nothing else is one', () => {
  assert.equal(utc_or_none('2026-11-15T02:03'), '2026-11-15T02:03:00Z');
  assert.equal(utc_or_none('2026-11-15T02:03:04.5Z'), '2026-11-15T02:03:04.500Z');
  assert.equal(utc_or_none('2026-11-15'), '2026-11-15T00:00:00Z', 'a date alone is its midnight');
  for (const bad of ['2026-02-30', '2026-02-30T00:00']) assert.equal(utc_or_none(bad), '', 'no such day');
  for (const bad of ['', 'now', '2026', '2026-13-45T00:00', '1 Jan 2026']) assert.equal(utc_or_none(bad), '');
});

test('a typed time is one of 24 hours, in UTC', () => {
  for (const text of ['2026-11-15 14:03:00', '2026-11-15T14:03', ' 2026-11-15 14:03 UTC ', '2026-11-15T14:03:00Z']) {
    assert.equal(typed_utc(text), '2026-11-15T14:03:00Z', text);
  }
  assert.equal(typed_utc('2026-11-15'), '2026-11-15T00:00:00Z');
  for (const bad of ['', '02:03 PM', '2026-11-15 02:03 PM', '15/11/2026 14:03', '2026-02-30 00:00']) {
    assert.equal(typed_utc(bad), '', bad);
  }
});

test('what an address says that no page knows is named', () => {
  assert.deepEqual(read_odd('/map', '?by=temp'), ['“by” is nothing that can be chosen here']);
  assert.match(read_odd('/map', '?colour=red')[0] ?? '', /^colour is one of state, .*, not “red”$/);
  assert.deepEqual(read_odd('/nowhere', ''), ['there is no page “nowhere”']);
  assert.deepEqual(read_odd('/jobs/17', '?jobs=ended&q=a&sort=-gpus&at=yesterday&theme=dark'), [], 'times are told elsewhere');
  assert.equal(read_odd('/', `?${'abcdefgh'.split('').map((k) => `${k}=1`).join('&')}`).length, 4);
});

test('the order of a table is a column, and nothing else', () => {
  assert.equal(parse_view('/jobs', '?sort=-gpus').sort, '-gpus');
  assert.equal(parse_view('/jobs', '?sort=<b>').sort, '');
});

test('times of an address that are none are named', () => {
  assert.deepEqual(read_times('?at=yesterday&from=2026-11-15'), { wrong: ['yesterday'], rewritten: true });
  assert.deepEqual(read_times('?at=2026-11-15'), { wrong: [], rewritten: true });
  assert.deepEqual(read_times('?at=2026-11-15T02:03:04Z&q=noon'), { wrong: [], rewritten: false });
  assert.deepEqual(read_times(''), { wrong: [], rewritten: false });
});

test('another page keeps the moment and the colours, and nothing else', () => {
  const here: View = { ...kHome, node: 'a', q: 'x', at: '2026-11-15T02:03:04Z', theme: 'dark' };
  assert.deepEqual(open_page(here, 'jobs', '7'), { ...kHome, page: 'jobs', id: '7', at: here.at, theme: 'dark' });
});

test('auto follows the system', () => {
  assert.equal(resolve_theme('auto', true), 'dark');
  assert.equal(resolve_theme('auto', false), 'light');
  assert.equal(resolve_theme('light', true), 'light');
});
