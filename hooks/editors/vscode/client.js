// Owns the connection to the daemon: requests as promises, notifications, and its start. Knows no editor.
"use strict";

const childProcess = require("child_process");
const net = require("net");

const { decode, encode } = require("./msgpack");
const { checkSocket, findSocket } = require("./socket");

/** Maximum time for an answer; the daemon's own deadlines are shorter, so it is reached only if the daemon hangs. */
const TIMEOUT_MS = 30_000;

/** Time after a failed attempt in which notifications are dropped, instead of trying again with each. */
const PAUSE_MS = 5_000;

/** Maximum unsent bytes, for a daemon that stopped reading; further notifications are dropped. */
const UNSENT_MAX_BYTES = 16 * 1024 * 1024;

/** An error of the daemon, or one about it: `code` is of the protocol, or `daemon_unavailable`. */
class DaemonError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }

  /** One line for a person. */
  get text() {
    return `foveal: ${this.message.replace(/\s+/g, " ")} (${this.code})`;
  }
}

/** `absent`: no daemon was there, so nothing was done. */
class Unavailable extends DaemonError {
  constructor(message, absent) {
    super("daemon_unavailable", message);
    this.absent = absent;
  }
}

/**
 * Speaks to the daemon; a lost connection is made again when it is needed.
 * Options: `socket` (the user's daemon without it), `command` and `start` for a daemon that doesn't run.
 */
class Client {
  constructor({ socket = "", command = "foveal", start = true, environ = process.env } = {}) {
    this._named = socket;
    this._command = command;
    this._start = start;
    this._environ = environ;
    this._connection = null;
    this._starting = null;
    this._started = false;
    this._retryAt = 0;
  }

  /** Return the result of a method. Rejects with `DaemonError`. Starts the daemon where none runs. */
  async request(method, params) {
    try {
      return await this._send(method, params);
    } catch (error) {
      if (!error.absent || !this._mayStart()) throw error;
    }
    await this._startDaemon();
    return this._send(method, params);
  }

  /** Send a notification; it is dropped if that fails. Without a daemon, one is started once. */
  notify(method, params) {
    if (!this._connection && Date.now() < this._retryAt) return;
    let connection;
    try {
      connection = this._connect();
    } catch (error) {
      if (error.absent && this._mayStart() && !this._started) {
        this._startDaemon().then(() => this.notify(method, params), () => undefined); // a request says why
      }
      return;
    }
    if (connection.unsent < UNSENT_MAX_BYTES) connection.write([2, method, [params]]);
  }

  /** Close the connection when what was written is sent; resolves then. */
  close() {
    const connection = this._connection;
    this._connection = null;
    return connection ? connection.end() : Promise.resolve();
  }

  _send(method, params) {
    return this._connect().request(method, params);
  }

  _connect() {
    if (this._connection) return this._connection;
    const { path } = findSocket(this._named, this._environ);
    try {
      if (!checkSocket(path)) throw new Unavailable("no daemon runs; start it with: foveal up", true);
    } catch (error) {
      this._retryAt = Date.now() + PAUSE_MS;
      throw error instanceof DaemonError ? error : new Unavailable(error.message, false);
    }
    const connection = new Connection(path, (heard) => {
      if (this._connection === connection) this._connection = null;
      if (!heard) this._retryAt = Date.now() + PAUSE_MS;
    });
    this._connection = connection;
    return connection;
  }

  _mayStart() {
    return this._start && !findSocket(this._named, this._environ).explicit;
  }

  /** Run `foveal up`, which returns when the daemon listens; requests meanwhile wait for the same run. */
  _startDaemon() {
    this._started = true;
    this._starting ??= new Promise((resolve, reject) => {
      const options = { env: this._environ, timeout: TIMEOUT_MS };
      childProcess.execFile(this._command, ["up"], options, (error, _output, said) => {
        this._starting = null;
        this._retryAt = 0;
        if (!error) resolve();
        else if (error.code === "ENOENT") {
          reject(new Unavailable(`the program ${this._command} isn't found; see: pip install foveal`, false));
        } else reject(new Unavailable(`the daemon didn't start: ${said.trim() || error.message}`, false));
      });
    });
    return this._starting;
  }
}

class Connection {
  constructor(path, onEnd) {
    this._waiting = new Map();
    this._nextId = 0;
    this._chunks = [];
    this._size = 0;
    this._wanted = 1;
    this._heard = false;
    this._problem = null;
    this._onEnd = onEnd;
    this._socket = net.createConnection({ path });
    this._socket.on("data", (data) => this._receive(data));
    this._socket.on("error", (error) => {
      const listens = error.code !== "ENOENT" && error.code !== "ECONNREFUSED";
      this._problem ??= new Unavailable(
        listens ? `the daemon went away (${error.code}); ask again` : `no daemon listens on ${path}; start it with: foveal up`,
        !this._heard,
      );
    });
    this._socket.on("close", () => this._ended());
  }

  request(method, params) {
    return new Promise((resolve, reject) => {
      const id = ++this._nextId;
      const timer = setTimeout(() => {
        this._waiting.delete(id);
        reject(new DaemonError("timeout", "the daemon doesn't answer; see: foveal status"));
      }, TIMEOUT_MS);
      this._waiting.set(id, { resolve, reject, timer });
      this.write([0, id, method, [params]]);
    });
  }

  /** How many bytes wait to be sent. */
  get unsent() {
    return this._socket.writableLength;
  }

  write(message) {
    this._socket.write(encode(message));
  }

  end() {
    return new Promise((resolve) => {
      this._socket.once("close", resolve);
      this._socket.end();
    });
  }

  /** Keep received bytes until a message can be complete, so that a large one isn't decoded again with each piece. */
  _receive(data) {
    this._chunks.push(data);
    this._size += data.length;
    if (this._size < this._wanted) return;
    let bytes = Buffer.concat(this._chunks);
    let found = null;
    try {
      while (!(found = decode(bytes)).missing) {
        bytes = bytes.subarray(found.end);
        this._heard = true;
        this._take(found.value);
      }
    } catch (error) {
      this._problem = new Unavailable(`the daemon sent what can't be read (${error.message})`, false);
      this._socket.destroy();
      return;
    }
    this._chunks = [bytes];
    this._size = bytes.length;
    this._wanted = bytes.length + found.missing;
  }

  _take(message) {
    if (!Array.isArray(message) || message[0] !== 1) return; // an event or a request: none was asked for
    const [, id, error, result] = message;
    const waiting = this._waiting.get(id);
    if (!waiting) return; // it came too late
    this._waiting.delete(id);
    clearTimeout(waiting.timer);
    if (error === null) waiting.resolve(result);
    else waiting.reject(new DaemonError(String(error.code), String(error.message)));
  }

  _ended() {
    this._problem ??= new Unavailable("the daemon went away before it answered; ask again", !this._heard);
    this._onEnd(this._heard);
    for (const { reject, timer } of this._waiting.values()) {
      clearTimeout(timer);
      reject(this._problem);
    }
    this._waiting.clear();
  }
}

module.exports = { Client, DaemonError };
