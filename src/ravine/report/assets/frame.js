// The frame of every page: its heading, the method, and the button for the theme.
function isDark() {
  return (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
}

function nameTheme() {
  byId("theme").textContent = isDark() ? "Light theme" : "Dark theme";
  byId("theme").setAttribute("aria-pressed", String(document.documentElement.dataset.theme !== undefined && isDark()));
}

const parameterTexts = (parameters) => parameters.flatMap(([name, text], i) => [i === 0 ? "" : ", ", el("code", {}, `${name}=${text}`)]);

function drawFrame() {
  byId("made-by").textContent = `ravine ${data.version}`;
  byId("finding").textContent = data.finding;
  const { method } = data;
  if (method === null) byId("method").textContent = "This report was made from a tree, without the model that grew it.";
  else byId("method").append("Method: ", el("b", {}, method.name), method.parameters.length === 0 ? " with its default parameters" : " with ", ...parameterTexts(method.parameters), ".");
  if (data.preparation !== null) byId("method").append(` ${data.preparation}`);
  nameTheme();
  byId("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    nameTheme();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", nameTheme);
}
