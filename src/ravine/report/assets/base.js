// Shared by all pages: the data, and elements that contain text only.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

const whole = d3.format(",");
const compact = (n) => (n < 10000 ? whole(n) : d3.format(".2~s")(n).replace("G", "B"));
const counted = (n, noun) => `${whole(n)} ${noun}${n === 1 ? "" : "s"}`;
const share = (part, all) => (all === 0 ? "–" : percent(part / all, 1));

function percent(x, digits = x < 0.1 || (x >= 0.995 && x < 1) ? 1 : 0) {
  if (x > 0 && x < 0.001) return "<0.1%";
  return x > 0.9995 && x < 1 ? ">99.9%" : d3.format(`.${digits}%`)(x);
}

// Numbers with 4 digits, without an exponent where possible.
function figure(x) {
  if (x === 0 || Number.isInteger(x)) return Math.abs(x) < 1e7 ? whole(x).replace("-", "−") : d3.format(".3~e")(x);
  const size = Math.abs(x);
  const text = size >= 1e6 || size < 1e-4 ? d3.format(".2~e")(x) : d3.format(size >= 1000 ? ",.1~f" : ".4~r")(x);
  return text.replace("-", "−");
}

const cropped = (text, length) => (text.length <= length ? text : `${text.slice(0, Math.max(length - 1, 1))}…`);
const nameOf = (feature, length = 60) => cropped(data.names[feature], length);

// An element with text and other elements. Text is never interpreted as markup.
function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, to] of Object.entries(value)) element.style.setProperty(key, to);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

// A table of clusters that is too wide for its place, or for a phone, becomes a list.
function stack(table) {
  table.classList.remove("stacked");
  table.classList.toggle("stacked", innerWidth <= 640 || table.scrollWidth > table.clientWidth);
}
addEventListener("resize", () => document.querySelectorAll(".clusters").forEach(stack));

// A name that may be too long: it is cropped, and shown in full on hover.
const named = (tag, text, attributes = {}, length = 60) =>
  el(tag, { ...attributes, title: text.length > length ? text : null }, cropped(text, length));
const featureName = (tag, feature, attributes, length) => named(tag, data.names[feature], attributes, length);
