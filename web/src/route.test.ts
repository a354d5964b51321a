import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kHome, parse_view, render_view, resolve_theme } from './route.js';

test('a view survives the way through the URL', () => {
  const view = { node: 'node 017/&?=', job: '17', incident: '12', jobs: 'queued', theme: 'light' } as const;
  assert.deepEqual(parse_view(render_view(view)), view);
});

test('the first view needs no query', () => {
  assert.equal(render_view(kHome), '');
  assert.deepEqual(parse_view(''), kHome);
});

test('what a URL says in error is ignored', () => {
  assert.deepEqual(parse_view('?theme=pink&jobs=all&x=1'), kHome);
  assert.equal(parse_view(`?node=${'a'.repeat(10_000)}`).node.length, 256);
});

test('auto follows the system', () => {
  assert.equal(resolve_theme('auto', true), 'dark');
  assert.equal(resolve_theme('auto', false), 'light');
  assert.equal(resolve_theme('light', true), 'light');
});
