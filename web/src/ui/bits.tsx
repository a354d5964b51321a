// Small pieces that every panel uses.
import { Component, type ComponentChildren, type FunctionComponent } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import type { Trouble } from '../types.js';
import { Here } from './nav.js';

// Draws again only when a property changed.
export function memo<P extends object>(inner: FunctionComponent<P>): FunctionComponent<P> {
  class Memo extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      const now = this.props as Record<string, unknown>;
      const then = next as Record<string, unknown>;
      for (const key in then) if (then[key] !== now[key]) return true;
      for (const key in now) if (!(key in then)) return true;
      return false;
    }
    override render(props: P) {
      return inner(props);
    }
  }
  const wrapped = (props: P) => <Memo {...props} />;
  return wrapped as FunctionComponent<P>;
}

// Text in which `backticks` mark commands.
export function Words({ text }: { text: string }) {
  return <>{text.split('`').map((part, i) => (i % 2 ? <code key={i}>{part}</code> : part))}</>;
}

// Commands that know the past.
const kOfThePast = /^muster (get|describe|explain|diagnose job|audit)\b/;

// The command that gives the same answer in a terminal; a click copies it.
export function Cli({ command: plain }: { command: string }) {
  const at = useContext(Here)?.view.at;
  const at_that_time = (one: string) => (at && kOfThePast.test(one) ? `${one} --at ${at}` : one);
  const command = plain.split(' && ').map(at_that_time).join(' && ');
  const [copied, set_copied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => set_copied(false), 1500);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = () => {
    navigator.clipboard?.writeText(command).then(
      () => set_copied(true),
      () => undefined, // not allowed here: the text can still be selected
    );
  };
  return (
    <button type="button" class="cli" onClick={copy} title="The same answer in a terminal. Click to copy." data-cli={command}>
      <span class="cli-text">{command}</span>
      <span class="cli-copy" aria-live="polite">{copied ? 'copied' : 'copy'}</span>
    </button>
  );
}

interface PanelProps {
  name: string;
  title: ComponentChildren;
  cli?: string;
  aside?: ComponentChildren;
  children: ComponentChildren;
}

export function Panel({ name, title, cli, aside, children }: PanelProps) {
  return (
    <section class={`panel panel-${name}`} aria-labelledby={`title-${name}`}>
      <header class="panel-head">
        <h2 id={`title-${name}`} tabIndex={-1}>{title}</h2>
        {aside}
        {cli && <Cli command={cli} />}
      </header>
      <div class="panel-body">{children}</div>
    </section>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

export function TroubleBox({ trouble }: { trouble: Trouble | undefined }) {
  if (!trouble) return null;
  return (
    <p class="trouble" role="status">
      <strong><Words text={trouble.what} /></strong> {trouble.next && <Words text={trouble.next} />}
    </p>
  );
}

export function Swatch({ kind, name }: { kind: 'gpu' | 'waste'; name: string }) {
  return <i class={`swatch ${kind}-${name}`} aria-hidden="true" />;
}
