"use strict";
// Sorts and filters the tables, fills the charts and scales their axes, shows and hides solvers,
// changes the theme, and prints in the light one.

const all = (selector, root = document) => [...root.querySelectorAll(selector)];

// ---- tables -----------------------------------------------------------------------------------

function sortBy(head) {
  const descending = head.getAttribute("aria-sort") === "ascending";
  const column = head.cellIndex;
  const body = head.closest("table").tBodies[0];
  const cells = [...body.rows].map((row) => {
    const cell = row.cells[column];
    return { row, number: parseFloat(cell.dataset.v), text: cell.textContent };
  });
  const missing = (cell) => cell.text === "" || cell.text.startsWith("–");
  const order = (a, b) => {
    if (missing(a) || missing(b)) return missing(a) - missing(b); // last in both directions
    const numbers = !Number.isNaN(a.number) && !Number.isNaN(b.number);
    const difference = numbers ? a.number - b.number
      : a.text.localeCompare(b.text, "en", { numeric: true });
    return descending ? -difference : difference;
  };
  body.append(...cells.sort(order).map((cell) => cell.row));
  for (const other of head.parentElement.cells) other.setAttribute("aria-sort", "none");
  head.setAttribute("aria-sort", descending ? "descending" : "ascending");
}

for (const button of all("table.sortable th button")) {
  button.addEventListener("click", () => sortBy(button.closest("th")));
}

function setUpFilters() {
  const form = document.getElementById("filters");
  const table = document.getElementById("all");
  const rows = [...table.tBodies[0].rows];
  const search = form.querySelector("input");
  const choices = all("select", form).map((select) => {
    const head = table.querySelector(`th[data-column="${select.dataset.column}"]`);
    return { select, textIn: (row) => row.cells[head.cellIndex].textContent };
  });
  for (const { select, textIn } of choices) {
    const texts = new Set(rows.map(textIn));
    for (const text of texts) select.append(new Option(text, text));
  }
  const apply = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word)) || choices.some(
        ({ select, textIn }) => select.value && textIn(row) !== select.value);
      shown += !row.hidden;
    }
    const noun = rows.length === 1 ? "run" : "runs";
    form.querySelector("output").textContent = `${shown} of ${rows.length} ${noun}`;
  };
  form.addEventListener("input", apply);
  form.addEventListener("reset", () => setTimeout(apply));
  form.addEventListener("submit", (event) => event.preventDefault());
}
setUpFilters();

// ---- charts -----------------------------------------------------------------------------------

const payload = JSON.parse(document.getElementById("payload").textContent);
const plots = new Map(); // by chart, once drawn
const hidden = new Set(); // indices of solvers

/** Put the lines of one view into a chart; a gap separates several lines of one solver. */
function fill(chart, view) {
  const plot = plots.get(chart.name);
  const lines = chart.views[view] ?? [];
  const figure = document.querySelector(`[data-chart="${chart.name}"]`);
  figure.querySelector(".empty").hidden = lines.length > 0;
  const select = figure.querySelector("select.view");
  figure.querySelector(".shown").textContent = // the full name: the drop-down may truncate it
    `${select.parentElement.firstChild.data.trim()}: ${select.selectedOptions[0]?.text ?? ""}`;
  if (plot.target && lines.length) {
    plot.target.data = { x: [lines[0][2][0]], y: plot.target.data.y };
  }
  for (const [place, source] of plot.sources.entries()) {
    const data = { x: [], y: [], label: [] };
    for (const [solver, label, x, y] of lines) {
      if (solver !== place) continue;
      const gap = data.x.length ? [NaN] : [];
      data.x.push(...gap, ...x);
      data.y.push(...gap, ...y);
      data.label.push(...gap.map(() => ""), ...x.map(() => label));
    }
    source.data = data;
  }
}

function showSolvers() {
  for (const plot of plots.values()) {
    plot.lines.forEach((glyphs, place) => {
      for (const glyph of glyphs) glyph.visible = !hidden.has(place);
    });
  }
  for (const box of all("input[data-solver]")) box.checked = !hidden.has(Number(box.dataset.solver));
}

function hide(places, value) {
  for (const place of places) value ? hidden.add(place) : hidden.delete(place);
  showSolvers();
}

const PLAIN_DECADES = 3; // up to this many, ticks are at 1, 2, 5, 10, 20, ...; more labels overlap
const MOST_POWERS = 8;

/** Return a number as text: 0.02 or 500, and as 2·10⁻⁸ if any tick is smaller or larger. */
function tickLabel(tick, all) {
  if (all.every((each) => each >= 0.999e-3 && each < 1e5)) return String(Number(tick.toPrecision(3)));
  const [mantissa, exponent] = tick.toExponential(2).split("e").map(Number);
  const digits = String(exponent).replace("-", "⁻").replace(/\d/g, (d) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[d]);
  return `${mantissa === 1 ? "" : `${mantissa}·`}10${digits}`;
}

/** Label a logarithmic axis with the numbers where its ticks are: Bokeh rounds 50 to 10². */
function labelLogarithmic(ruler) {
  const { ticker } = ruler;
  const linear = ticker.get_ticks.bind(ticker); // for less than a decade
  ticker.get_ticks = (low, high, ...others) => {
    const decades = Math.log10(high / low);
    const step = Math.max(1, Math.ceil(decades / MOST_POWERS));
    const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
    const powers = [];
    for (let power = Math.ceil(first / step) * step; power <= last; power += step) powers.push(power);
    const at = (factors) => powers.flatMap((power) => factors.map((f) => Number(`${f}e${power}`)))
      .filter((tick) => low <= tick && tick <= high);
    const major = at(decades <= PLAIN_DECADES ? [1, 2, 5] : [1]);
    if (!(major.length > 1)) return linear(low, high, ...others);
    return { major, minor: step === 1 ? at([2, 3, 4, 5, 6, 7, 8, 9]) : [] };
  };
  ruler.formatter = new (Bokeh.Models.get("BasicTickFormatter"))();
  ruler.formatter.doFormat = (ticks) => ticks.map((tick) => tickLabel(tick, ticks));
}

/** Make an axis "Log" or "Linear", and show everything. */
function scale(plot, axis, kind) {
  const make = (type, settings) => new (Bokeh.Models.get(type))(settings);
  const { model } = plot.view;
  const [ruler] = axis === "x" ? model.below : model.left;
  const { desired_num_ticks } = ruler.ticker;
  const [marks, hint] = kind === "Log" ? ["Log", "log"] : ["Basic", "auto"];
  ruler.ticker = make(`${marks}Ticker`, { desired_num_ticks });
  ruler.formatter = make(`${marks}TickFormatter`);
  if (kind === "Log") labelLogarithmic(ruler);
  model[`${axis}_range`].scale_hint = hint;
  model[`${axis}_scale`] = make(`${kind}Scale`);
  plot.view.reset();
}

/** Paint the charts in the page's current colours, immediately: printing does not wait. */
function paint() {
  const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink");
  for (const plot of plots.values()) {
    for (const place of payload.inked) {
      const [line, marker] = plot.lines[place];
      line.glyph.line_color = { value: ink };
      marker.glyph.line_color = { value: ink };
      if (marker.glyph.fill_color.value !== null) marker.glyph.fill_color = { value: ink };
    }
    plot.view.invalidate_painters();
    plot.view.paint();
  }
}

async function draw(chart) {
  const figure = document.querySelector(`[data-chart="${chart.name}"]`);
  const views = await Bokeh.embed.embed_item(chart.item, chart.name);
  const view = views.roots[0];
  for (const ruler of [...view.model.below, ...view.model.left]) {
    if (ruler.ticker.type === "LogTicker") labelLogarithmic(ruler);
  }
  const named = (name) => view.model.document.get_model_by_name(name);
  const places = all("input[data-solver]", figure).map((_, place) => place);
  plots.set(chart.name, {
    view,
    target: named("target"),
    sources: places.map((place) => named(`source${place}`)),
    lines: places.map((place) => [named(`line${place}`), named(`marker${place}`)]),
  });
  const select = figure.querySelector("select.view");
  select.addEventListener("change", () => fill(chart, select.value));
  for (const choice of all("select[data-axis]", figure)) {
    choice.addEventListener("change", () => {
      scale(plots.get(chart.name), choice.dataset.axis, choice.value);
    });
  }
  figure.querySelector(".all").addEventListener("click", () => hide(places, false));
  figure.querySelector(".none").addEventListener("click", () => hide(places, true));
  for (const box of all("input[data-solver]", figure)) {
    box.addEventListener("change", () => hide([Number(box.dataset.solver)], !box.checked));
  }
  fill(chart, select.value);
}

// ---- theme ------------------------------------------------------------------------------------

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const root = document.documentElement;

function setUpTheme() {
  const button = document.getElementById("theme");
  const dark = () => (root.dataset.theme ?? (prefersDark.matches ? "dark" : "light")) === "dark";
  const update = () => {
    button.textContent = dark() ? "Light theme" : "Dark theme";
    paint();
  };
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    update();
  });
  prefersDark.addEventListener("change", update);
  const print = (now) => {
    root.toggleAttribute("data-printing", now);
    paint();
  };
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  matchMedia("print").addEventListener("change", (event) => print(event.matches));
  update();
}

Promise.all(payload.charts.map(draw)).then(() => {
  setUpTheme();
  root.dataset.ready = "yes";
});
