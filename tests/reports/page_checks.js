// What is wrong with a page as it is laid out, as lists of words; read by test_browser.py.

const texts = () => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.textContent.trim() && !node.parentElement.closest("style")) found.push(node);
  }
  return found;
};

// Texts whose boxes reach beyond the window or beyond the figure they stand in, and boxes that have
// to be scrolled; but for the large figures of studies, which are meant to be scrolled on a phone.
const overflowing = () => {
  const wide = document.documentElement.clientWidth;
  const whole = document.documentElement.scrollWidth;
  const found = whole > wide ? [`the page is ${whole} wide`] : [];
  for (const node of texts()) {
    if (node.parentElement.closest(".across, thead")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const figure = node.parentElement.closest("svg");
    const room = figure ? figure.getBoundingClientRect() : new DOMRect(0, -1e9, wide, 2e9);
    for (const box of range.getClientRects()) {
      const out = Math.max(room.left - box.left, box.right - room.right, room.top - box.top,
        box.bottom - room.bottom);
      if (box.width > 1 && out > 2)
        found.push(`${node.textContent.slice(0, 60)}: ${out.toFixed(0)} pixels out`);
    }
  }
  for (const e of document.querySelectorAll("body *")) {
    const isBox = e.clientWidth > 0 && getComputedStyle(e).display !== "inline";
    if (isBox && !e.closest("svg, .across, thead") && e.scrollWidth > e.clientWidth + 1)
      found.push(`${e.tagName} is cut: ${e.textContent.trim().slice(0, 40)}`);
  }
  return found;
};

// Texts of one figure that lie over each other.
const overlapping = () => {
  const found = [];
  for (const figure of document.querySelectorAll("svg")) {
    const boxes = [...figure.querySelectorAll("text:not([transform])")].map(
      (text) => [text.textContent, text.getBoundingClientRect()]);
    boxes.forEach(([word, a], i) => boxes.slice(i + 1).forEach(([other, b]) => {
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 2 && down > 0.4 * Math.min(a.height, b.height)) found.push(`${word} | ${other}`);
    }));
  }
  return found;
};

// Texts with less contrast than WCAG AA asks for: 4.5, or 3 for large ones.
const faint = () => {
  const numbers = (colour) => [...colour.match(/[\d.]+/g).map(Number), 1].slice(0, 4);
  const luminance = (colour) => {
    const [r, g, b] = numbers(colour).map((v) => v / 255).map(
      (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if (numbers(colour)[3] > 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const found = [];
  let seen = 0;
  for (const node of texts()) {
    const e = node.parentElement;
    if (e.closest("[data-on]")) continue; // on a coloured cell, and not on the page
    const style = getComputedStyle(e);
    const figure = e.closest("svg");
    const ink = figure ? style.fill : style.color;
    const pair = [luminance(ink), luminance(ground(figure || e))].sort((a, b) => b - a);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.6 && Number(style.fontWeight) >= 700);
    seen += 1;
    if ((pair[0] + 0.05) / (pair[1] + 0.05) < (isLarge ? 3 : 4.5))
      found.push(`${node.textContent.trim().slice(0, 40)}: ${ink}`);
  }
  return seen > 50 ? found : [`only ${seen} texts were looked at`];
};
