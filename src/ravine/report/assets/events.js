// The events as a table, the most recent first, of all kinds or of one.
const FIRST_EVENTS = 50;
const shownEvents = { kind: "", all: false };

function drawEvents() {
  const box = byId("events");
  if (data.events.length === 0) {
    byId("events-lead").textContent = "Nothing was reported so far.";
    return;
  }
  const n = d3.sum(data.kinds, ([, count]) => count);
  const kept = n > data.events.length ? ` The last ${whole(data.events.length)} of ${counted(n, "event")} are listed.` : "";
  byId("events-lead").textContent = `The most recent event is first. "Reported at" is the row after which the model reported it, "since" the row at which the change began, as far as it is known. Rows are numbered from 0.${kept}`;
  const choice = (kind, text) => el("option", { value: kind, selected: shownEvents.kind === kind }, text);
  const select = el("select", { id: "kind", onchange: (event) => showEvents(event.target.value, false) }, choice("", `all ${counted(data.events.length, "event")}`), data.kinds.map(([kind, count]) => choice(kind, kindText(kind, count))));
  const matching = data.events.filter((event) => shownEvents.kind === "" || event.kind === shownEvents.kind);
  const listed = shownEvents.all ? matching : matching.slice(0, FIRST_EVENTS);
  const head = ["reported at", "since", "kind", "what happened"].map((title, i) => el("th", { scope: "col", class: i < 2 ? "number" : i === 2 ? "after-number" : null }, title));
  const row = (event) => el("tr", {}, el("td", { class: "number", "data-label": "row" }, whole(event.row)), el("td", { class: "number", "data-label": "since" }, whole(event.since)), el("td", { class: "kind after-number" }, event.kind), el("td", { class: "what" }, eventText(event)));
  box.replaceChildren(
    data.kinds.length > 1 ? el("p", { class: "choose" }, el("label", { for: "kind" }, "Show "), select) : "",
    el("div", { class: "scroll", role: "region", tabindex: 0, "aria-labelledby": "events-title" }, el("table", { class: "events" }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, listed.map(row)))),
    listed.length < matching.length ? el("p", { class: "choose" }, el("button", { type: "button", class: "quiet", onclick: () => showEvents(shownEvents.kind, true) }, `Show all ${whole(matching.length)}`)) : "",
  );
}

function eventText(event) {
  const more = [];
  if (event.shift !== undefined) more.push(`by ${figure(event.shift)} standard deviations`);
  if (event.p_value !== undefined) more.push(event.p_value === 0 ? "p < 1e-300" : `p = ${d3.format(event.p_value < 0.001 ? ".1~e" : ".2~r")(event.p_value)}`);
  return more.length ? `${event.text} (${more.join(", ")})` : event.text;
}

function showEvents(kind, all) {
  Object.assign(shownEvents, { kind, all });
  drawEvents();
  byId("kind")?.focus();
}
