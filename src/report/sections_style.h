// What reports made of sections (the week, the month) add to the style sheet of every page (page_style.h): their colours, their
// drawings, and paper.
#pragma once
#include <string_view>

namespace muster::report {

// Causes are c0 to c5 and c6 for all others; each stands beside its name as well.
constexpr std::string_view kSectionsStyle = R"css(
:root {
  --useful: #0072b2; --unsettled: #56b4e9; --idle: #9aa5b1; --loss: #d55e00; --all: #4d6a7a; --alarm: #b00020; --note: #8a5a00;
  --c0: #d55e00; --c1: #e69f00; --c2: #cc79a7; --c3: #7a5195; --c4: #009e73; --c5: #8c564b; --c6: #9aa5b1;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --useful: #3d98db; --unsettled: #86c5f2; --idle: #65717e; --loss: #ee7628; --all: #86a3b3; --alarm: #ff8a8a; --note: #f2b134;
    --c0: #ee7628; --c1: #f2b134; --c2: #dd94bd; --c3: #a67fc6; --c4: #22b78c; --c5: #b98070; --c6: #65717e;
  }
}
.useful { fill: var(--useful); background: var(--useful); } .loss { fill: var(--loss); background: var(--loss); }
.unsettled { fill: var(--unsettled); background: var(--unsettled); } .idle { fill: var(--idle); background: var(--idle); }
.all { fill: var(--all); }
.c0 { fill: var(--c0); background: var(--c0); } .c1 { fill: var(--c1); background: var(--c1); }
.c2 { fill: var(--c2); background: var(--c2); } .c3 { fill: var(--c3); background: var(--c3); }
.c4 { fill: var(--c4); background: var(--c4); } .c5 { fill: var(--c5); background: var(--c5); }
.c6 { fill: var(--c6); background: var(--c6); }
header { border-left: 8px solid var(--useful); }
p, dd, li { overflow-wrap: anywhere; }
.sim { display: inline-block; border: 1px solid var(--note); color: var(--note); border-radius: 4px; padding: 0 8px;
  font-weight: 650; }
.alarm { color: var(--alarm); font-weight: 650; }
header .facts dd { font-size: 22px; font-weight: 650; }
header .facts small { display: block; }
ol.advice { margin: 14px 0 0; padding-left: 22px; }
ol.advice li { margin: 0 0 8px; }
ol.advice b { font-weight: 650; }
svg.drawing { display: block; width: 100%; height: auto; margin: 0 0 12px; }
svg.drawing text { font: 13px system-ui, "Segoe UI", Roboto, sans-serif; fill: var(--text); }
svg.drawing text.dim { fill: var(--text-2); }
svg.narrow { display: none; }
svg.drawing .gridline { stroke: var(--line); }
svg.drawing .trend { stroke: var(--useful); stroke-width: 2; fill: none; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 18px; font-size: 13px; margin: 0 0 12px; }
/* What is wider than the screen casts a shadow at the side where it goes on: covers that scroll along hide it at the end. */
.scroll { --edge: color-mix(in srgb, var(--text) 45%, transparent); background:
  linear-gradient(to right, var(--panel) 40%, transparent) 0 0 / 34px 100% no-repeat local,
  linear-gradient(to left, var(--panel) 40%, transparent) 100% 0 / 34px 100% no-repeat local,
  linear-gradient(to right, var(--edge), transparent) 0 0 / 11px 100% no-repeat scroll,
  linear-gradient(to left, var(--edge), transparent) 100% 0 / 11px 100% no-repeat scroll; }
.scroll:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
td { white-space: normal; overflow-wrap: break-word; vertical-align: top; max-width: 34ch; }
td.n { white-space: nowrap; }
td:first-child { white-space: nowrap; }
dl.defined { margin: 0; display: grid; grid-template-columns: max-content 1fr; gap: 4px 18px; font-size: 14px; }
dl.defined dt { font-weight: 600; }
dl.defined dd { margin: 0; }
@media (max-width: 900px) {
  dl.defined { grid-template-columns: 1fr; gap: 0; }
  dl.defined dd { margin: 0 0 8px; }
}
@media screen and (max-width: 700px) {
  svg.wide { display: none; }
  svg.narrow { display: block; }
}
@media print {
  @page { size: A4; margin: 12mm; }
  body { font-size: 10pt; background: none; }
  main { max-width: none; padding: 0; }
  section, header { border: 0; border-radius: 0; padding: 0 0 4mm; margin: 0 0 4mm; }
  header { border-left: 4px solid var(--useful); padding-left: 4mm; }
  h1 { font-size: 17pt; }
  h2 { break-after: avoid; }
  table, dl.defined, .note { font-size: 8pt; }
  th { font-size: 8pt; white-space: normal; }
  tr, figure, svg, ol.advice li { break-inside: avoid; }
  thead { display: table-header-group; }
  .scroll { overflow: visible; background: none; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
)css";

}  // namespace muster::report
