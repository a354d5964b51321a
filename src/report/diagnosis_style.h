// What the diagnosis' page adds to the style sheet of every page (page_style.h). Colours are those of Okabe and Ito and shades of
// them, which people with colour-blind eyes can tell apart as far as that is possible; each stands beside its name as well.
#pragma once
#include <string_view>

namespace muster::report {

constexpr std::string_view kDiagnosisStyle = R"css(
:root {
  --compute: #0072b2; --memory: #009e73; --communication: #d55e00; --input: #e69f00; --launch: #cc79a7; --sync: #7a5195;
  --copy: #b8a400; --pipeline: #8c564b; --dependency: #4d6a7a; --other: #9aa5b1;
  --product: #0072b2; --attention: #4fa6de; --convolution: #9fcdee; --stream: #009e73; --optimizer: #74cdb2; --unknown: #8d99a8;
  --heat: 213 94 0;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --compute: #3d98db; --memory: #22b78c; --communication: #ee7628; --input: #f2b134; --launch: #dd94bd; --sync: #a67fc6;
    --copy: #ddcf45; --pipeline: #b98070; --dependency: #86a3b3; --other: #65717e;
    --product: #3d98db; --attention: #86c5f2; --convolution: #c4e2f8; --stream: #22b78c; --optimizer: #8fdcc5; --unknown: #a3b0c0;
    --heat: 238 118 40;
  }
}

header { border-left: 8px solid var(--bound, var(--line)); }
.bound { display: inline-block; font-weight: 650; font-size: 15px; }
.bound .sw { width: 13px; height: 13px; margin-right: 8px; vertical-align: -1px; }
.sure { color: var(--text-2); font-size: 13px; margin-left: 10px; }

.fall { display: grid; grid-template-columns: minmax(200px, 330px) 1fr max-content max-content; gap: 7px 16px;
  align-items: center; }
.fall.ranged { grid-template-columns: minmax(200px, 330px) 1fr max-content max-content max-content; }
.fall .what { line-height: 1.25; }
.fall .what small { display: block; padding-left: 17px; }
.track { position: relative; height: 22px; background: var(--panel-2); border-radius: 3px; overflow: hidden; }
.track i { position: absolute; top: 0; bottom: 0; min-width: 2px; }
.fall .sum { border-top: 1px solid var(--line); padding-top: 6px; font-weight: 600; align-self: stretch; }
.fall .head { color: var(--text-2); font-size: 13px; }
.stacks { display: grid; grid-template-columns: minmax(90px, max-content) 1fr max-content; gap: 4px 16px; align-items: center;
  margin-top: 18px; font-size: 13px; }
.stacks .track { height: 14px; display: flex; }
.stacks .track i { position: static; min-width: 0; height: 100%; }

.finding { display: grid; grid-template-columns: 1fr 250px; gap: 6px 32px; border-top: 1px solid var(--line); padding: 16px 0; }
.finding:last-child { padding-bottom: 0; }
.finding h3 { font-size: 16px; padding-left: 28px; text-indent: -28px; }
.finding h3 b { display: inline-block; width: 28px; text-indent: 0; color: var(--text-2); font-weight: 400; }
.finding > div { min-width: 0; padding-left: 28px; }
.finding h3 { grid-column: 1; margin: 0; }
.finding aside { grid-column: 2; grid-row: 1 / span 2; font-size: 13px; color: var(--text-2); }
.finding ul { margin: 0 0 10px; padding-left: 17px; font-size: 14px; }
.finding li { overflow-wrap: anywhere; }
.pair { font-size: 14px; }
.pair b { font-weight: 600; }
.do { display: block; background: var(--panel-2); border-left: 3px solid var(--accent); border-radius: 0 5px 5px 0;
  padding: 9px 13px;
  margin: 0 0 10px; white-space: pre-wrap; overflow-wrap: anywhere; user-select: all; cursor: copy; }
.then { font-size: 14px; color: var(--text-2); margin: 0; }
.gain { font-size: 22px; color: var(--text); font-weight: 650; line-height: 1.2; font-variant-numeric: tabular-nums; }
.gain small { font-size: 13px; }
aside .track { height: 9px; margin: 8px 0; }
aside .track i { background: var(--accent); min-width: 3px; border-radius: 2px; }
aside dl { display: grid; grid-template-columns: 1fr auto; gap: 0 12px; margin: 0; }
aside dd { margin: 0; color: var(--text); text-align: right; font-variant-numeric: tabular-nums; }

.note.aside { margin: 12px 0 0; }
#kernels .note { margin: 6px 0 0; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 18px; font-size: 13px; }
.rank { margin: 14px 0 0; }
.lanes, .axis { position: relative; display: grid; grid-template-columns: 108px 1fr 58px; gap: 3px 10px; align-items: center;
  font-size: 13px; }
.lane { color: var(--text-2); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.lanes svg { display: block; width: 100%; height: 24px; background: var(--panel-2); position: relative; }
.one .lanes svg { height: 40px; }
.lanes svg.idle, .one .lanes svg.idle { height: 18px; }
.lanes svg rect:hover { stroke: var(--text); stroke-width: 1; vector-effect: non-scaling-stroke; }
.grid { position: absolute; left: 118px; right: 68px; top: 0; bottom: 0; pointer-events: none; z-index: 1; }
.grid i { position: absolute; top: 0; bottom: 0; width: 1px; background: var(--text-2); opacity: .22; }
.axis { margin-top: 5px; color: var(--text-2); }
.ticks { position: relative; height: 18px; }
.ticks b { position: absolute; font-weight: 400; font-variant-numeric: tabular-nums; transform: translateX(-50%);
  white-space: nowrap; }
.ticks b:first-child { transform: none; }

td.name { max-width: 0; width: 60%; min-width: 240px; overflow: hidden; text-overflow: ellipsis; }
.meter span { display: inline-block; width: 54px; height: 8px; background: var(--panel-2); border-radius: 2px;
  margin-right: 9px; }
.meter i { display: block; height: 100%; border-radius: 2px; }
figure { margin: 20px 0 0; display: flex; flex-wrap: wrap; gap: 8px 28px; align-items: flex-end; }
figcaption { max-width: 44ch; padding-bottom: 6px; }
.roofline { max-width: 100%; height: auto; display: block; }
.roofline text { font-size: 12px; fill: var(--text-2); }
.roofline .gridline { stroke: var(--line); }
.roofline .roof { stroke: var(--text); stroke-width: 1.5; fill: none; }
.roofline circle { fill-opacity: .75; stroke: var(--panel); }
.roofline text.row { fill: #fff; font-weight: 600; paint-order: stroke; stroke: rgb(0 0 0 / 55%); stroke-width: 2px;
  font-size: 11px; }
table.waits { width: auto; }
.waits th, .waits td { border: 0; padding: 2px 4px; text-align: center; font-size: 13px; font-variant-numeric: tabular-nums; }
.waits th:first-child { text-align: left; padding-right: 14px; }
.waits td.n, .waits th.n { padding-left: 18px; text-align: right; }
.waits td.heat { background: rgb(var(--heat) / calc(6% + 74% * var(--w))); min-width: 16px; height: 26px;
  border: 2px solid var(--panel);
  background-clip: padding-box; }
.waits td.last { box-shadow: inset 0 0 0 2px var(--text); }
.words { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
@media (max-width: 900px) {
  .finding { grid-template-columns: 1fr; }
  .finding aside { grid-column: 1; grid-row: auto; padding-left: 28px; max-width: 340px; }
  .fall, .fall.ranged { grid-template-columns: minmax(110px, 170px) 1fr max-content max-content; column-gap: 10px; }
  .fall .what small, .fall .range { display: none; }
  .finding aside { margin-top: 8px; }
  .meter span { display: none; }
  td.name { min-width: 200px; }
  .lanes, .axis { grid-template-columns: 84px 1fr 50px; column-gap: 8px; }
  .grid { left: 92px; right: 58px; }
}
)css";

}  // namespace muster::report
