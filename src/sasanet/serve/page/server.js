// Questions to the server that this page came from, and what to say when it refuses.

let key = "";

export class Refused extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

export function useKey(given) {
  key = given.trim();
}

export async function ask(path, { json, body, signal } = {}) {
  const request = { method: json === undefined && body === undefined ? "GET" : "POST", headers: {}, signal };
  if (key) request.headers.Authorization = `Bearer ${key}`;
  if (json !== undefined) {
    request.headers["Content-Type"] = "application/json";
    request.body = JSON.stringify(json);
  } else if (body !== undefined) request.body = body;
  let answer;
  try {
    answer = await fetch(path, request);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "The server cannot be reached.");
  }
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => ({}));
  throw new Refused(answer.status, said.error || `The server answered with status ${answer.status}.`);
}

export async function askJson(path, options) {
  return (await ask(path, options)).json();
}

export function pathOf(model, what) {
  return `/models/${encodeURIComponent(model)}/${what}`;
}

// The newest question alone: an older one that is still under way is given up.
export class Latest {
  #under = null;

  async ask(path, options) {
    this.#under?.abort();
    const own = (this.#under = new AbortController());
    try {
      return await askJson(path, { ...options, signal: own.signal });
    } catch (error) {
      if (own.signal.aborted) return null;
      throw error;
    } finally {
      if (this.#under === own) this.#under = null;
    }
  }
}
// --- trouble -----------------------------------------------------------------------------------

const at = (id) => document.getElementById(id);

export function say(sentence) {
  at("trouble").textContent = sentence;
}

// What some work finds, or null and the server's own sentence; a server with keys is asked again with one.
export async function attempt(work) {
  try {
    const found = await work();
    if (found !== null) say("");
    return found;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    say(error.message);
    if (error.status === 401) {
      at("key-form").hidden = false;
      at("key").focus();
    }
    return null;
  }
}
