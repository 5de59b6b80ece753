// The banner about whether the clusters can be trusted, and what happened to the columns of the table.
function drawTrust() {
  const { level, text, note } = data.trust;
  const sign = { good: "✓", partly: "◐", unsure: "!", none: "○", plain: "i" }[level];
  byId("trust").replaceChildren(el("span", { class: "sign", "aria-hidden": "true" }, sign), el("span", {}, el("b", {}, text), note === "" ? null : el("span", { class: "muted" }, ` ${note}`)));
  byId("trust").classList.add(level);
}

function drawColumns() {
  if (data.columns === null) {
    byId("columns-section").remove();
    return;
  }
  const nUsed = data.columns.filter((column) => column.treatment !== "ignored").length;
  byId("columns-lead").textContent = `${nUsed} of ${counted(data.columns.length, "column")} of the table ${nUsed === 1 ? "was" : "were"} used to find the clusters.`;
  const row = (column) => el("tr", { class: column.treatment === "ignored" ? "ignored" : null }, named("th", column.name, { scope: "row" }, 60), el("td", {}, column.role), el("td", {}, column.treatment), el("td", {}, column.reason));
  byId("columns").replaceChildren(el("table", {}, el("thead", {}, el("tr", {}, ["column", "kind", "how it was used", "why"].map((title) => el("th", { scope: "col" }, title)))), el("tbody", {}, data.columns.map(row))));
}
