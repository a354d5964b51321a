// What a page asks for itself: answers that no other page shows.
import { useEffect, useState } from 'preact/hooks';
import { as_trouble, get, post } from '../api.js';
import { at_time } from '../live.js';
import type { Trouble } from '../types.js';

export interface Asked<T> {
  answer: T | null; // the last one, also while the next is under way
  trouble: Trouble | null;
}

function use_question<T>(question: string, every_ms: number, put: () => Promise<unknown>): Asked<T> {
  const [asked, set_asked] = useState<Asked<T> & { of: string }>({ of: '', answer: null, trouble: null });
  useEffect(() => {
    if (question === '') return undefined;
    let current = true;
    let timer = 0;
    const again = () => {
      put().then(
        (answer) => current && set_asked({ of: question, answer: answer as T, trouble: null }),
        (error: unknown) => current && set_asked((old) =>
          ({ of: question, answer: old.of === question ? old.answer : null, trouble: as_trouble(error) })),
      ).then(() => {
        if (current && every_ms > 0) timer = window.setTimeout(() => document.hidden || again(), every_ms);
      });
    };
    again();
    const shown = () => !document.hidden && every_ms > 0 && again();
    document.addEventListener('visibilitychange', shown);
    return () => {
      current = false;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', shown);
    };
  }, [question, every_ms]);
  return asked.of === question ? asked : { answer: null, trouble: null };
}

// `at`: the moment that is shown; the present is asked for again and again. An empty path asks nothing.
export function use_answer<T>(path: string, at: string, every_ms: number): Asked<T> {
  const whole = path && at_time(path, at);
  return use_question<T>(whole, at ? 0 : every_ms, () => get(whole));
}

export function use_tool<T>(name: string, input: Record<string, unknown>, every_ms: number): Asked<T> {
  return use_question<T>(`${name} ${JSON.stringify(input)}`, every_ms, () => post(`/api/v1/tools/${name}`, input));
}
