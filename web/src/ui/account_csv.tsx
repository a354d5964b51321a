// The rows of an answer as a file: what `muster account -o csv` prints for the same question.
import { useState } from 'preact/hooks';
import { as_trouble, post } from '../api.js';
import { download } from './download.js';

// `question` as the tool takes it; its moments are in the file's name.
export function SaveCsv({ what, question }: { what: string; question: Record<string, unknown> }) {
  const [state, set_state] = useState('');
  const save = () => {
    set_state('asking…');
    post('/api/v1/tools/account', { ...question, csv: true }).then(
      (answer) => {
        const day = (key: string) => String(question[key] ?? '').slice(0, 10);
        const name = ['account', question['by'], day('from'), day('to')].filter(Boolean).join('_');
        download(`${name}.csv`, 'text/csv', (answer as { csv: string }).csv);
        set_state('');
      },
      (error: unknown) => set_state(as_trouble(error).what),
    );
  };
  return (
    <span class="account-save">
      <button type="button" class="button" data-csv={question['by'] as string} onClick={save}
        title={`All ${what} of this, with every class, as muster account -o csv prints them`}>CSV</button>
      <span role="status">{state}</span>
    </span>
  );
}
