"use strict";

const $ = id => document.getElementById(id);
const shown = new Map(); // the element of each photo, by its id: a string, since ids exceed 2^53
let me = ""; // the e-mail address of whoever has signed in
let stored = 0;
let failed = 0;

async function call(method, path, parameters = {}) {
  const query = new URLSearchParams(parameters);
  const response = await fetch(`/api/${path}?${query}`, { method });
  const body = await response.json();
  if (!response.ok) {
    throw new Error(body.detail || response.statusText);
  }
  return body;
}

function say(problem) {
  $("problem").textContent = problem;
  $("problem").hidden = !problem;
}

/** Runs what a button does, with the button disabled meanwhile. */
async function press(button, action) {
  button.disabled = true;
  try {
    await action();
    say("");
    await refresh();
  } catch (e) {
    say(e.message);
  } finally {
    button.disabled = false;
  }
}

function element(photo) {
  const made = $("photo").content.firstElementChild.cloneNode(true);
  const hue = Number(BigInt(photo.id) % 360n);
  made.querySelector(".picture").style.background =
      `linear-gradient(135deg, hsl(${hue} 70% 65%), hsl(${(hue + 60) % 360} 70% 40%))`;
  made.querySelector("h2").textContent = photo.title;
  made.querySelector(".by").textContent = `by ${photo.user}, ${photo.country}`;
  const like = made.querySelector(".like");
  like.addEventListener("click", () => press(like, () =>
      call("POST", `photos/${photo.id}/likes`, { user: me || "someone" })));
  const move = made.querySelector(".move");
  move.addEventListener("click", () => press(move, () => call("POST", `shards/${photo.shard}/move`)));
  return made;
}

function show(photo) {
  if (!shown.has(photo.id)) {
    shown.set(photo.id, element(photo));
  }
  const item = shown.get(photo.id);
  item.querySelector(".place").textContent = `shard ${photo.shard} on ${photo.server}`;
  item.querySelector(".like").textContent = `♥ ${photo.likes}`;
  item.querySelector(".like").ariaLabel = `Like, ${photo.likes} so far`;
  item.querySelector(".move").textContent = `Move shard ${photo.shard}`;
  return item;
}

async function refresh() {
  const photos = await call("GET", "photos");
  const items = photos.map(show);
  const list = $("photos");
  if (items.length !== list.children.length || items.some((item, i) => item !== list.children[i])) {
    list.replaceChildren(...items); // Only if it changed, so that nobody loses the focus.
  }
  $("none").hidden = photos.length > 0;
  const { people, photos: all, likes } = await call("GET", "totals");
  $("totals").textContent = `${people} people, ${all} photos, ${likes} likes in all shards`;
}

/** Signs in, or up with a name and a country. */
async function signIn(isNew) {
  const email = $("email").value;
  const person = isNew
      ? await call("POST", "people", { email, name: $("name").value, country: $("country").value })
      : await call("GET", "people", { email });
  me = email;
  $("me").textContent = `Signed in as ${person.name}, ${person.country}`;
  $("me").hidden = false;
  $("add").hidden = false;
  $("person").hidden = true;
  $("title").focus();
}

/** Likes one photo after the other, each time as someone else, until the button is pressed again. */
async function keepLiking() {
  while ($("load").ariaPressed === "true") {
    for (const id of [...shown.keys()]) {
      try {
        await call("POST", `photos/${id}/likes`, { user: `visitor ${crypto.randomUUID()}` });
        stored++;
      } catch (e) {
        failed++;
        say(e.message);
      }
      $("done").textContent = `${stored} likes stored, ${failed} failed`;
    }
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}

$("person").addEventListener("submit", event => {
  event.preventDefault();
  press(event.submitter, () => signIn(event.submitter.value === "up"));
});

$("add").addEventListener("submit", event => {
  event.preventDefault();
  press(event.submitter, async () => {
    await call("POST", "photos", { email: me, title: $("title").value });
    $("title").value = "";
  });
});

$("load").addEventListener("click", () => {
  const on = $("load").ariaPressed !== "true";
  $("load").ariaPressed = String(on);
  if (on) {
    keepLiking();
  }
});

async function keepFresh() {
  try {
    await refresh();
  } catch (e) {
    say(e.message);
  }
  setTimeout(keepFresh, 1000);
}

async function showCountries() {
  try {
    const countries = await call("GET", "countries");
    $("country").replaceChildren(...countries.map(country => new Option(country.name, country.code)));
  } catch (e) {
    say(e.message);
  }
}

showCountries();
keepFresh();
