import { useState } from 'preact/hooks';
import { age, id_text } from '../format.js';
import type { Live } from '../live.js';
import type { Approval, Trouble } from '../types.js';
import { verb_words } from '../words.js';
import { memo, Panel, TroubleBox } from './bits.js';
import { To } from './nav.js';

interface Props {
  approvals: Approval[]; // that wait
  busy: boolean;
  now_utc: string;
  trouble: Trouble | undefined;
  live: Live;
}

// What waits is said first; a second click answers.
function Waiting({ approval, props }: { approval: Approval; props: Props }) {
  const [asking, set_asking] = useState<'' | 'approve' | 'reject'>('');
  const where = approval.node || (approval.job ? `job ${approval.job}` : 'the site');
  const act = `${verb_words(approval.verb)} ${where}`;
  const answer = (verb: 'approve' | 'reject') => {
    set_asking('');
    const done = verb === 'approve' ? `Approved: ${act}.` : `Rejected: ${act}. A person has incident ${approval.incident} now.`;
    void props.live.act('/api/v1/commands', { verb, approval: approval.id, reason: 'from the page' }, done);
  };
  return (
    <li data-approval={String(approval.id)} data-verb={approval.verb} data-node={approval.node}>
      <p>
        <b>{verb_words(approval.verb)}</b> {where} <span class="muted">asked {age(approval.asked, props.now_utc)} ago</span>
      </p>
      <p>{approval.sentence}</p>
      <p class="warn">{approval.why}</p>
      <p class="links">
        <To page="incidents" id={id_text(approval.incident)}>show incident {approval.incident}</To>
      </p>
      {asking === '' ? (
        <div class="row">
          <button type="button" class="button" disabled={props.busy} onClick={() => set_asking('approve')}>Approve…</button>
          <button type="button" class="button quiet" disabled={props.busy} onClick={() => set_asking('reject')}>
            Reject…
          </button>
        </div>
      ) : (
        <div class="ask" role="group" aria-label={`Confirm: ${asking}`}>
          <p>{asking === 'approve' ? 'Muster does it at once, within its limits.' : 'Muster leaves the incident to you.'}</p>
          <button type="button" class="button strong" disabled={props.busy} onClick={() => answer(asking)}>
            {asking === 'approve' ? 'Approve' : 'Reject'}: {act}
          </button>
          <button type="button" class="button quiet" onClick={() => set_asking('')}>Cancel</button>
        </div>
      )}
    </li>
  );
}

// Shown only while something waits: most sites ask for no approvals.
export const ApprovalsPanel = memo((props: Props) => {
  if (props.approvals.length === 0 && !props.trouble) return null;
  return (
    <Panel name="approvals" title="Waiting for approval" cli="muster guard status">
      <TroubleBox trouble={props.trouble} />
      <ul class="refusals">
        {props.approvals.map((a) => <Waiting key={a.id} approval={a} props={props} />)}
      </ul>
    </Panel>
  );
});
