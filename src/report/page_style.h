// The style sheet of pages that are one file: what they share. Dark where the reader's screen is, light on paper.
#pragma once
#include <string_view>

namespace muster::report {

constexpr std::string_view kPageStyle = R"css(
:root {
  color-scheme: light dark;
  --bg: #f3f5f8; --panel: #fff; --panel-2: #f3f5f8; --line: #dbe1e8; --text: #16202c; --text-2: #55636f; --accent: #0b62b8;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --bg: #0d1117; --panel: #151b23; --panel-2: #1d2530; --line: #2a3441; --text: #e4eaf1; --text-2: #9aa8b7; --accent: #5aa9f2;
  }
}
@media print { :root { color-scheme: light; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--text); font: 15px/1.5 system-ui, "Segoe UI", Roboto, sans-serif; }
main { max-width: 1240px; margin: 0 auto; padding: 28px 24px 40px; }
section, header { background: var(--panel); border: 1px solid var(--line); border-radius: 10px; padding: 20px 24px;
  margin: 0 0 18px; }
h1 { font-size: 27px; line-height: 1.3; font-weight: 650; margin: 4px 0 10px; letter-spacing: -.01em; text-wrap: balance; }
h2 { font-size: 18px; font-weight: 650; margin: 0 0 10px; }
h3 { font-size: 15px; font-weight: 600; margin: 0 0 6px; }
small { font-size: 13px; font-weight: 400; color: var(--text-2); }
p { margin: 0 0 10px; }
.note, figcaption { color: var(--text-2); font-size: 13px; max-width: 100ch; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.sw { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 7px; }
code, pre { font: 13px/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
.scroll { overflow-x: auto; }
.facts { display: flex; flex-wrap: wrap; gap: 8px 34px; margin: 14px 0 0; }
.facts div { min-width: 70px; }
.facts dt { color: var(--text-2); font-size: 13px; }
.facts dd { margin: 0; font-size: 18px; font-variant-numeric: tabular-nums; }
table { border-collapse: collapse; font-size: 14px; width: 100%; }
th { text-align: left; font-weight: 400; font-size: 13px; color: var(--text-2); padding: 3px 12px 5px 0; white-space: nowrap;
  border-bottom: 1px solid var(--line); }
td { padding: 5px 12px 5px 0; white-space: nowrap; border-bottom: 1px solid var(--line); }
th.n { text-align: right; }
tr > :last-child { padding-right: 0; }
.plain { margin: 0; padding-left: 20px; }
footer { color: var(--text-2); font-size: 13px; padding: 0 4px; }
@media (max-width: 900px) {
  main { padding: 14px 12px 30px; }
  section, header { padding: 16px; }
  h1 { font-size: 22px; }
}
)css";

}  // namespace muster::report
