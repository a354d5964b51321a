// What may be wider than its place: it scrolls, can be reached by the Tab key, and says so while there is more to the right.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

export function ScrollBox({ class: name, label, labelled, children }: {
  class: string; label?: string; labelled?: string; children: ComponentChildren;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [more, set_more] = useState(false);
  useEffect(() => {
    const element = box.current!;
    const look = () => set_more(element.scrollWidth - element.clientWidth - element.scrollLeft > 2);
    const watch = new ResizeObserver(look);
    watch.observe(element);
    if (element.firstElementChild) watch.observe(element.firstElementChild);
    element.addEventListener('scroll', look, { passive: true });
    look();
    return () => {
      watch.disconnect();
      element.removeEventListener('scroll', look);
    };
  }, []);
  return (
    <>
      <div ref={box} class={name} tabIndex={0} role="region" aria-label={label} aria-labelledby={labelled}>{children}</div>
      {more && <p class="wide-hint" data-more>more columns to the right: scroll ▶</p>}
    </>
  );
}
