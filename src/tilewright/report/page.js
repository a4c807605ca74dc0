"use strict";
(() => {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const root = document.documentElement;
  const probe = document.createElement("span");
  probe.hidden = true;
  document.body.append(probe);

  // Plotly knows no CSS variables: each becomes the colour that it has in the theme shown now.
  const resolve = (value) => {
    if (typeof value === "string" && value.startsWith("var(")) {
      probe.style.color = value;
      return getComputedStyle(probe).color;
    }
    if (Array.isArray(value)) return value.map(resolve);
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, resolve(item)]));
    }
    return value;
  };

  let view = "network";
  const axisStyle = {
    gridcolor: "var(--rule)", linecolor: "var(--muted)", tickcolor: "var(--rule)", zerolinecolor: "var(--rule)",
  };
  const units = {
    network: { "energy-levels": "energy, repeats counted", "energy-tensors": "energy, repeats counted", latency: "cycles, repeats counted" },
    layer: { "energy-levels": "energy of one run", "energy-tensors": "energy of one run", latency: "cycles of one run" },
    operation: { "energy-levels": "energy per operation", "energy-tensors": "energy per operation", latency: "cycles per operation" },
  };

  const draw = (key, width) => {
    const { data, layout, factors } = figures[key];
    const box = document.getElementById("plot-" + key);
    const narrow = (width || box.clientWidth) < 760;
    const traces = data.map((trace) => {
      const shown = { ...trace };
      const factor = factors[view];
      if (factor && trace.meta !== "fixed") shown.x = trace.x.map((x, i) => x * factor[trace.y[i]]);
      if (narrow && trace.mode === "markers+text") shown.mode = "markers";
      return shown;
    });
    const styled = {
      ...layout,
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: "var(--ink)" },
      hoverlabel: { bgcolor: "var(--panel)", bordercolor: "var(--rule)", font: { color: "var(--ink)" }, align: "left" },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: "var(--muted)", activecolor: "var(--accent)" },
      width: width || undefined,
      autosize: !width,
    };
    for (const name of Object.keys(layout)) {
      if (/^[xy]axis/.test(name)) styled[name] = { ...axisStyle, ...layout[name] };
    }
    if (factors[view]) {
      styled.xaxis.title = { text: units[view][key], standoff: 6 };
      styled.xaxis.autorange = true;
    }
    const name = [document.title.split(" · ")[0], key].join(" ").replace(/[^\w.-]+/g, "-");
    Plotly.react(box, resolve(traces), resolve(styled), {
      displaylogo: false,
      responsive: true,
      modeBarButtons: [layout.dragmode === false ? ["toImage"] : ["toImage", "zoom2d", "pan2d", "resetScale2d"]],
      toImageButtonOptions: { format: "svg", filename: name },
    });
  };
  const drawAll = (width) => Object.keys(figures).forEach((key) => draw(key, width));

  const themes = ["auto", "light", "dark"];
  const themeButton = document.getElementById("theme");
  themeButton.addEventListener("click", () => {
    const now = themes[(themes.indexOf(root.dataset.theme || "auto") + 1) % themes.length];
    if (now === "auto") delete root.dataset.theme;
    else root.dataset.theme = now;
    themeButton.textContent = "theme: " + now;
    themeButton.setAttribute("aria-label", "Colour theme: " + now);
    drawAll();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll());

  // Paper is white and narrower than most screens.
  addEventListener("beforeprint", () => {
    root.dataset.screenTheme = root.dataset.theme || "";
    root.dataset.theme = "light";
    drawAll(680);
  });
  addEventListener("afterprint", () => {
    if (root.dataset.screenTheme) root.dataset.theme = root.dataset.screenTheme;
    else delete root.dataset.theme;
    drawAll();
  });

  document.querySelectorAll("[data-view]").forEach((button) =>
    button.addEventListener("click", () => {
      view = button.dataset.view;
      document.querySelectorAll("[data-view]").forEach((other) =>
        other.setAttribute("aria-pressed", String(other.dataset.view === view)));
      drawAll();
    }));

  const layers = [...document.querySelectorAll("details.layer")];
  const show = (id) => {
    const layer = layers.find((item) => item.id === id);
    if (!layer) return;
    layer.open = true;
    layer.scrollIntoView();
  };
  addEventListener("hashchange", () => show(location.hash.slice(1)));
  document.getElementById("go")?.addEventListener("change", (event) => {
    if (event.target.value) location.hash = event.target.value;
  });
  document.getElementById("expand")?.addEventListener("click", () => layers.forEach((item) => (item.open = true)));
  document.getElementById("collapse")?.addEventListener("click", () => layers.forEach((item) => (item.open = false)));
  if (layers.length === 1) layers[0].open = true;

  document.querySelectorAll("table.sortable").forEach((table) => {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => head.addEventListener("click", () => {
      // numbers are wanted from the largest on, names from A on
      const named = table.tBodies[0].rows[0].cells[column].dataset.value === undefined;
      const now = head.getAttribute("aria-sort");
      const up = named ? now !== "ascending" : now === "descending";
      const value = (row) => {
        const cell = row.cells[column];
        return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
      };
      const order = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true }));
      const rows = [...table.tBodies[0].rows].sort((a, b) => (up ? 1 : -1) * order(value(a), value(b)));
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      table.tBodies[0].append(...rows);
    }));
  });

  drawAll();
  show(location.hash.slice(1));
})();
