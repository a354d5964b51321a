// A field for a time in UTC, of 24 hours whatever the browser's language is: the same figures as everywhere else on the page.
import { useEffect, useState } from 'preact/hooks';
import { typed_utc } from '../route.js';

// `put` gets a time as the address has it; "" where the field was emptied and that is allowed.
export function UtcInput({ value, label, put, empty, disabled, title }: {
  value: string; label?: string; put: (utc: string) => void; empty?: boolean; disabled?: boolean; title?: string;
}) {
  const shown = value.slice(0, 19).replace('T', ' ');
  const [text, set_text] = useState(shown);
  const [wrong, set_wrong] = useState(false);
  useEffect(() => {
    set_text(shown);
    set_wrong(false);
  }, [shown]);
  const take = () => {
    const utc = typed_utc(text);
    set_wrong(!utc && !(empty && !text.trim()));
    if (utc ? utc !== value : empty && !text.trim() && value) put(utc);
    else if (utc) set_text(shown);
  };
  return (
    <>
      <input type="text" class="utc-input" value={text} disabled={disabled} title={title} aria-label={label} spellcheck={false}
        autocomplete="off" placeholder="2026-11-15 14:03:00" aria-invalid={wrong}
        onInput={(event) => set_text(event.currentTarget.value)} onChange={take} />
      {wrong && <span class="warn" role="alert">no such time: write it as 2026-11-15 14:03</span>}
    </>
  );
}
