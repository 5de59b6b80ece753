// Rules for the clusters of the fit, and their copies as text, SQL and Python.
const leafNode = (leaf) => (isFlat ? leaf + 1 : clustersAt(nClusters)[leaf]);
const nameOfLeaf = (leaf) => (hasOwnName(leafNode(leaf)) ? givenName(leafNode(leaf)) : `cluster ${leaf}: ${renamed.get(leafNode(leaf)) ?? givenName(leafNode(leaf))}`);

function drawRules() {
  const { rules, exact } = data;
  const row = (rule) => el("tr", {}, named("th", nameOfLeaf(rule.cluster), { scope: "row" }, 60), el("td", {}, el("code", {}, rule.text)), el("td", {}, el("span", { class: "part" }, rule.words), el("span", { class: "part muted" }, rule.held_out)));
  const table = rules.list.length === 0 ? el("p", { class: "note" }, rules.reason) : el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of rules" },
    el("table", { class: "rules" }, el("thead", {}, el("tr", {}, ["cluster", "rule", "how good it is"].map((title) => el("th", { scope: "col" }, title)))), el("tbody", {}, rules.list.map(row))));
  const copies = [];
  if (rules.list.length > 0) copies.push(copyButton("Copy as text", rulesText));
  if (rules.sql.length > 0) copies.push(copyButton("Copy as SQL", () => rulesCode("--", rules.sql)));
  if (rules.python.length > 0) copies.push(copyButton("Copy as Python", () => rulesCode("#", rules.python)));
  if (exact.sql.length > 0) copies.push(copyButton("Copy the exact model as SQL", () => rulesCode("--", exact.sql)));
  byId("rules").replaceChildren(table,
    el("p", { class: "note" }, [rules.agreement, rules.list.length > 0 ? rules.reason : "", exact.reason].filter((text, i, all) => text !== "" && all.indexOf(text) === i).join(" ")),
    copies.length === 0 ? "" : el("p", { class: "copies" }, copies),
    ...codeBlocks());
}

const rulesText = () => data.rules.list.map((rule) => `${nameOfLeaf(rule.cluster)}\n  ${rule.text}\n  ${rule.words}`.trimEnd()).join("\n");

// Code with the names of the clusters as comments before it.
const rulesCode = (mark, code) => [...d3.range(nClusters).map((leaf) => `${mark} ${nameOfLeaf(leaf)}`), ...code].join("\n");

function codeBlocks() {
  const block = (title, code) => el("details", {}, el("summary", {}, title), el("pre", { tabindex: 0, role: "region", "aria-label": title }, code.join("\n")));
  return [
    ...(data.rules.sql.length === 0 ? [] : [block("The rules as SQL", data.rules.sql)]),
    ...(data.rules.python.length === 0 ? [] : [block("The rules as Python", data.rules.python)]),
    ...(data.exact.sql.length === 0 ? [] : [block("The exact model as SQL", data.exact.sql)]),
  ];
}

function copyButton(title, text) {
  const button = el("button", { type: "button", class: "quiet", onclick: () => copyText(text()).then((isDone) => {
    button.textContent = isDone ? "Copied" : "Not copied: select the text below";
    setTimeout(() => { button.textContent = title; }, 2000);
  }) }, title);
  return button;
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = el("textarea", { class: "skip" });
    field.value = text;
    document.body.append(field);
    field.select();
    const isDone = document.execCommand("copy");
    field.remove();
    return isDone;
  }
}
