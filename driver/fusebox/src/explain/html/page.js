"use strict";
// What is about the same operations has one of their names in `data-n`: choosing one marks all.
const all = [...document.querySelectorAll("[data-n]")];
const status = document.getElementById("selected");
const names = (element) => element.getAttribute("data-n").split(" ");
function choose(element) {
  const wanted = new Set(element ? names(element) : []);
  for (const other of all) other.classList.toggle("chosen", names(other).some((name) => wanted.has(name)));
  const nodes = new Set([...document.querySelectorAll(".node.chosen")].map((node) => node.id));
  for (const edge of document.querySelectorAll(".edge[data-from]"))
    edge.classList.toggle("chosen", nodes.has(edge.dataset.from) || nodes.has(edge.dataset.to));
  document.body.classList.toggle("choosing", element !== null);
  status.hidden = element === null;
  if (element === null) return;
  const kernels = [...document.querySelectorAll("#moves tr.chosen > th")].map((row) => row.textContent);
  const label = element.getAttribute("aria-label");
  status.textContent = (label || [...wanted].join(", ")) + (kernels.length ? "; kernel " + kernels.join(", kernel ") : "");
  // Into view inside of each text; the page stays where it is.
  for (const text of document.querySelectorAll("#stages pre")) {
    const first = text.querySelector(".chosen");
    if (first && text !== element.parentElement) text.scrollTop = first.offsetTop - text.offsetTop - text.clientHeight / 3;
  }
}
document.addEventListener("click", (event) => {
  if (event.target.closest("a, input, summary")) return;
  const element = event.target.closest("[data-n]");
  if (element || event.target.closest("main")) choose(element);
});
document.addEventListener("keydown", (event) => {
  const element = document.activeElement;
  if (event.key === "Escape") choose(null);
  else if ((event.key === "Enter" || event.key === " ") && element.matches("[data-n]")) {
    event.preventDefault();
    choose(element);
  }
});
for (const node of document.querySelectorAll(".node[data-n]"))
  node.addEventListener("focus", () => node.matches(":focus-visible") && choose(node));
// Lines of the source can be reached with the keyboard; those of other stages are many.
for (const line of document.querySelectorAll("#stages article:first-child .line[data-n]")) line.tabIndex = 0;
document.body.classList.add("scripted");

// Counts are sums of products; numbers are whole, as in the compiler.
const form = document.getElementById("sizes");
const min = (a, b) => (a < b ? a : b), max = (a, b) => (a > b ? a : b);
const functions = {
  min, max,
  "/": (a, b) => a / b,
  "%": (a, b) => a % b,
  div: (a, b) => a / b - (a % b !== 0n && a % b < 0n !== b < 0n ? 1n : 0n),
  mod: (a, b) => a % b + (a % b !== 0n && a % b < 0n !== b < 0n ? b : 0n),
};
function value(terms, sizes) {
  let sum = 0n;
  for (const { coefficient, factors } of terms) {
    let product = BigInt(coefficient);
    for (const { size, function: name, arguments: operands, power } of factors) {
      const base = size === undefined ? functions[name](...operands.map((of) => value(of.terms, sizes))) : sizes[size];
      product *= base ** BigInt(power);
    }
    sum += product;
  }
  return sum;
}
function scaled(count, unit) {
  let number = Number(count);
  if (Math.abs(number) < 1000) return (count + " " + unit).trim();
  for (const prefix of ["k", "M", "G", "T", "P", "E"]) {
    number /= 1000;
    const size = Math.abs(number);
    if (size < 999.5 || prefix === "E") return number.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0) + " " + prefix + unit;
  }
}
function compute() {
  const sizes = {};
  for (const field of form.elements) sizes[field.name] = /^-?\d+$/.test(field.value) ? BigInt(field.value) : undefined;
  for (const row of document.querySelectorAll("#moves tbody tr, #moves tfoot tr"))
    row.querySelectorAll("output").forEach((output, column) => {
      try {
        const count = value(JSON.parse(output.dataset.count), sizes);
        output.textContent = scaled(count, column < 2 ? "B" : "");
        output.title = String(count);
      } catch {
        output.textContent = "?"; // a size is missing, or a function of it has no value
        output.title = "";
      }
    });
}
if (form) {
  form.addEventListener("input", compute);
  form.addEventListener("submit", (event) => event.preventDefault());
}
