import { clock, shell_word } from '../format.js';
import { cause_words } from '../words.js';
import { use_tool } from './ask.js';
import { Cli, Empty, Panel, TroubleBox, Words } from './bits.js';
import { To } from './nav.js';

const kEveryMs = 5000;

// As src/report/job_diagnosis.h has it.
interface Diagnosis {
  phase: string;
  note: string;
  explained: boolean;
  known: {
    where: string; kind: string; evidence: string; finding: number; incident: number; severity: string; explains: boolean;
    remedy: string; since_utc: string;
  }[];
  traces: { node: string; why: string; command: string }[];
  needs: string;
  then: string;
}

function verdict(d: Diagnosis): string {
  if (d.known.length === 0) return 'Nothing is held against it or its nodes.';
  if (d.explained) return 'What is known on its nodes may be all there is to it.';
  return 'There is suspicion, and no fault found that explains it yet.';
}

function Known({ d }: { d: Diagnosis }) {
  return (
    <ul class="diagnosis">
      {d.known.map((k) => (
        <li key={k.finding} data-finding={k.finding} class={k.explains ? 'explains' : ''}>
          <p>
            <b>{cause_words(k.kind)}</b>: {k.where}, {k.severity}, since {clock(k.since_utc)}
            {k.incident > 0 && <>, <To page="incidents" id={String(k.incident)}>incident {k.incident}</To></>}
          </p>
          {k.evidence && <p class="mono">{k.evidence}</p>}
          {k.remedy && <p class="muted">{k.remedy}</p>}
        </li>
      ))}
    </ul>
  );
}

function Traces({ d }: { d: Diagnosis }) {
  return (
    <>
      <h3>{d.explained ? 'If not, profiles of three steps tell more' : 'What bounds it, profiles of three steps tell'}</h3>
      <ul class="traces">
        {d.traces.map((t) => (
          <li key={t.node}>{t.node}: {cause_words(t.why)}<Cli command={t.command} /></li>
        ))}
      </ul>
      <p class="muted">{d.needs}. Then bring the files together: <code>{d.then}</code></p>
    </>
  );
}

// What the controller holds against the job, and what to do next.
export function JobDiagnosisPanel({ id, moment }: { id: string; moment: string }) {
  const { answer, trouble } = use_tool<Diagnosis>('diagnose_job', { job: id, ...(moment && { to: moment }) },
    moment ? 0 : kEveryMs);
  return (
    <Panel name="job-diagnosis" title="Diagnosis" cli={`muster diagnose job ${shell_word(id)}`}>
      <TroubleBox trouble={trouble ?? undefined} />
      {!answer && !trouble && <Empty>Asking…</Empty>}
      {answer && (
        <>
          <p class="diagnosis-verdict"><b>{verdict(answer)}</b> {answer.note && <Words text={answer.note} />}</p>
          <Known d={answer} />
          {answer.traces.length > 0 ? <Traces d={answer} />
            : <p class="muted">It does not run: there is nothing to take a profile of.</p>}
        </>
      )}
    </Panel>
  );
}
