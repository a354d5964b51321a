// Everything on screen is in the URL, so that a link shows a colleague the same view.

import { kAccountBy, type AccountBy } from './account.js';

export type Theme = 'auto' | 'dark' | 'light';
export type JobsTab = 'running' | 'queued' | 'ended';
export const kPages = [
  'now', 'map', 'fabric', 'jobs', 'incidents', 'timeline', 'goodput', 'account', 'plan', 'whatif', 'policy',
] as const;
export type PageName = (typeof kPages)[number];
// What the cells of the map are coloured by.
export const kColours = ['state', 'job', 'temp', 'power', 'util', 'peers', 'risk', 'money'] as const;
export type Colour = (typeof kColours)[number];

export interface View {
  page: PageName;
  id: string; // of a job or an incident that has the page to itself; empty: the list
  at: string; // the moment that is shown, in UTC; empty: now
  node: string;
  job: string;
  incident: string;
  leaf: string; // of the fabric, by name
  jobs: JobsTab;
  colour: Colour;
  q: string; // what a list is filtered by
  by: AccountBy; // what the rows of the account are told by
  sort: string; // the column that a table is in the order of, with - before it falling; empty: the table's own order
  form: string; // what a page with questions was asked, as a query of its own
  zoom: string; // what part of a picture is shown, as that picture writes it
  from: string; // of a page about a stretch of time, in UTC; empty: its own choice
  to: string;
  theme: Theme;
}

export const kHome: View = {
  page: 'now', id: '', at: '', node: '', job: '', incident: '', leaf: '', jobs: 'running', colour: 'state', q: '', by: 'account',
  sort: '', form: '', zoom: '', from: '', to: '', theme: 'auto',
};

const kNameMax = 256; // a longer "name" is not one of ours
const kFormMax = 1024;

// A time in UTC to the second (or finer), as the API takes it; a date alone is its midnight; anything else is none.
export function utc_or_none(text: string): string {
  const whole = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text;
  const ms = /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(whole) ? Date.parse(whole.endsWith('Z') ? whole : `${whole}Z`) : NaN;
  const utc = Number.isNaN(ms) ? '' : new Date(ms).toISOString().replace('.000Z', 'Z');
  return utc.slice(0, 10) === text.slice(0, 10) ? utc : ''; // 30 February is no day, whatever it would roll over to
}

// What a person types into a field for a time: "2026-11-15 02:03", with or without T, seconds, Z and UTC.
export function typed_utc(text: string): string {
  return utc_or_none(text.trim().replace(/\s*(UTC|Z)$/i, '').replace(/\s+/, 'T'));
}

const kTimes = ['at', 'from', 'to'] as const;

// Times of an address that are none, as they were written; and whether the address says any in another way than it will be shown.
export function read_times(search: string): { wrong: string[]; rewritten: boolean } {
  const query = new URLSearchParams(search);
  const written = kTimes.map((key) => query.get(key) ?? '').filter(Boolean).map((text) => text.slice(0, kNameMax));
  return {
    wrong: written.filter((text) => !utc_or_none(text)),
    rewritten: written.some((text) => text !== utc_or_none(text)),
  };
}

const kChoices: Partial<Record<string, readonly string[]>> = {
  jobs: ['running', 'queued', 'ended'], colour: kColours, theme: ['auto', 'dark', 'light'], by: kAccountBy,
};
const kSaidMost = 4; // of an address that is wrong all over

// What an address says that this page does not know, in words: names of fields, values of fields, pages. Times are read_times's.
export function read_odd(path: string, search: string): string[] {
  const out: string[] = [];
  const [, name = ''] = path.split('/');
  if (name && !kPages.some((p) => p === name)) out.push(`there is no page “${name.slice(0, kNameMax)}”`);
  for (const [key, value] of new URLSearchParams(search)) {
    const short = value.slice(0, kNameMax);
    const allowed = kChoices[key];
    const known = kKeys.some((k) => k === key) && (key !== 'by' || name === 'account');
    if (!known) out.push(`“${key.slice(0, kNameMax)}” is nothing that can be chosen here`);
    else if (allowed && !allowed.includes(value)) out.push(`${key} is one of ${allowed.join(', ')}, not “${short}”`);
  }
  return out.slice(0, kSaidMost);
}

function piece(text: string): string {
  try {
    return decodeURIComponent(text).slice(0, kNameMax);
  } catch {
    return '';
  }
}

export function parse_view(path: string, search: string): View {
  const query = new URLSearchParams(search);
  const text = (key: string) => (query.get(key) ?? '').slice(0, kNameMax);
  const one_of = <T extends string>(key: string, allowed: readonly T[], otherwise: T): T =>
    allowed.find((a) => a === query.get(key)) ?? otherwise;
  const [, name = '', id = ''] = path.split('/');
  const page = kPages.find((p) => p === name) ?? 'now';
  return {
    page,
    id: page === 'jobs' || page === 'incidents' ? piece(id) : '',
    at: utc_or_none(text('at')),
    node: text('node'),
    job: text('job'),
    incident: text('incident'),
    leaf: text('leaf'),
    jobs: one_of('jobs', ['running', 'queued', 'ended'], 'running'),
    colour: one_of('colour', kColours, 'state'),
    q: text('q'),
    by: page === 'account' ? one_of('by', kAccountBy, kHome.by) : kHome.by,
    sort: /^-?[a-z_]+$/.test(text('sort')) ? text('sort').slice(0, 40) : '',
    form: (query.get('form') ?? '').slice(0, kFormMax),
    zoom: text('zoom'),
    from: utc_or_none(text('from')),
    to: utc_or_none(text('to')),
    theme: one_of('theme', ['auto', 'dark', 'light'], 'auto'),
  };
}

const kKeys = [
  'at', 'node', 'job', 'incident', 'leaf', 'jobs', 'colour', 'q', 'by', 'sort', 'form', 'zoom', 'from', 'to', 'theme',
] as const;

export function render_view(view: View): string {
  const query = new URLSearchParams();
  for (const key of kKeys) {
    if (view[key] !== kHome[key]) query.set(key, view[key]);
  }
  const path = view.page === 'now' ? '/' : `/${view.page}${view.id ? `/${encodeURIComponent(view.id)}` : ''}`;
  const text = query.toString().replaceAll('%3A', ':');
  return text ? `${path}?${text}` : path;
}

// Another page: it begins with nothing chosen, at the same moment and in the same colours.
export function open_page(view: View, page: PageName, id = ''): View {
  return { ...kHome, page, id, at: view.at, theme: view.theme };
}

// What "auto" means on this screen.
export function resolve_theme(theme: Theme, system_is_dark: boolean): 'dark' | 'light' {
  return theme === 'auto' ? (system_is_dark ? 'dark' : 'light') : theme;
}
