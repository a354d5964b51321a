import { useEffect } from 'preact/hooks';
import { clock } from '../format.js';
import type { Live } from '../live.js';
import type { Theme } from '../route.js';
import type { Link, Page } from '../store.js';
import { kLoginHint } from '../store.js';
import type { Summary } from '../types.js';
import { Words } from './bits.js';
import { Nav } from './nav.js';
import { kMinute, later } from './time_bar.js';

const kLinkWords: Record<Link, string> = { connecting: 'connecting…', live: 'live', lost: 'reconnecting…' };
const kNoticeMs = 6000; // good news leaves by itself
const kNextTheme: Record<Theme, Theme> = { auto: 'dark', dark: 'light', light: 'auto' };

function autopilot_words(summary: Summary | null, past: boolean): string {
  if (!summary) return '…';
  if (!summary.paused) return past ? 'autopilot was on' : 'autopilot on';
  return `${past ? 'was ' : ''}paused${summary.paused_by ? ` by ${summary.paused_by}` : ''}`;
}

export function Header({ page, live }: { page: Page; live: Live }) {
  const { summary, link, view } = page;
  const paused = summary?.paused ?? false;
  const past = view.at !== '' && link === 'live';
  const verb = paused ? 'resume' : 'pause';
  const done = paused ? 'Muster acts again.' : 'Muster is paused: it watches, and does nothing.';
  const toggle = () => void live.act('/api/v1/commands', { verb, reason: 'from the page' }, done);
  return (
    <header class="top">
      <h1><span class="mark" aria-hidden="true" />Muster</h1>
      <span class="cluster" data-cluster>{summary?.cluster ?? page.present?.cluster ?? '…'}</span>
      <Nav view={view} />
      <span class="grow" />
      <time class="now" dateTime={summary?.now_utc ?? ''} title="The cluster's clock">{clock(summary?.now_utc)}</time>
      {!view.at && (
        <button type="button" class="button quiet" disabled={!summary} onClick={() => later(page, -kMinute, live)}
          title="See the cluster as it was; keys: [ and ]">◀ past</button>
      )}
      {page.acting !== 'unknown' && (
        <span class={`chip login-${page.acting}`} data-acting={page.acting}
          title={page.acting === 'refused' ? kLoginHint.replaceAll('`', '') : 'The server lets you act'}>
          {page.acting === 'allowed' ? 'logged in' : 'looking only: log in to act'}
        </span>
      )}
      <span class={past ? 'chip link-past' : `chip link-${link}`} data-link={link} role="status" title="Connection to the server">
        <i class="dot" aria-hidden="true" />{past ? 'past' : kLinkWords[link]}
      </span>
      <span class={paused ? 'chip autopilot paused' : 'chip autopilot'} data-paused={String(paused)}>
        {autopilot_words(summary, view.at !== '')}
      </span>
      <button type="button" class={paused ? 'button strong' : 'button'} disabled={!summary || page.busy} onClick={toggle}
        title={`The same: muster ${verb}`}>
        {paused ? '▶ Resume' : '❚❚ Pause'}
      </button>
      <button type="button" class="button quiet" onClick={() => live.go({ theme: kNextTheme[view.theme] })}
        aria-label={`Colours: ${view.theme}`} title="Colours: auto, dark, light">
        {view.theme === 'auto' ? '◐' : view.theme === 'dark' ? '●' : '○'}<span class="theme-word"> {view.theme}</span>
      </button>
    </header>
  );
}

export function SimBanner({ text }: { text: string }) {
  if (!text) return null;
  return (
    <p class="sim" role="note" data-sim>
      <strong>SIMULATION</strong>
      <span>{text}</span>
      <span class="sim-aside">a digital twin: no real machine is touched</span>
    </p>
  );
}

export function NoticeLine({ page, close }: { page: Page; close: () => void }) {
  const { notice } = page;
  useEffect(() => {
    if (!notice?.good) return;
    const timer = setTimeout(close, kNoticeMs);
    return () => clearTimeout(timer);
  }, [notice]);
  if (!notice) return null;
  return (
    <p class={notice.good ? 'toast notice good' : 'toast notice bad'} role="alert" data-notice={notice.good ? 'good' : 'bad'}>
      <span>
        <strong>{notice.good ? '✓' : '!'}</strong> <Words text={notice.what} /> {notice.next && <Words text={notice.next} />}
      </span>
      <button type="button" class="button quiet" onClick={close} aria-label="Close this message">✕</button>
    </p>
  );
}

export function LostLine({ page }: { page: Page }) {
  if (page.link !== 'lost') return null;
  return (
    <p class="notice bad" role="status">
      <span>
        <strong>!</strong> No answer from the server. What you see is from {clock(page.summary?.now_utc)}; the page reconnects by
        itself. Is <code>muster demo</code> still running?
      </span>
    </p>
  );
}
