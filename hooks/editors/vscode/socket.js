// Owns where the daemon's socket lies and whether it is the user's alone; connects to nothing.
"use strict";

const fs = require("fs");
const os = require("os");
const path = require("path");

const INFO_MAX_BYTES = 64 * 1024;
const SOCKET_MAX_BYTES = 100;
const HTTP_NAME_BYTES = Buffer.byteLength("/foveal-http.sock");

/** Return `{path, explicit}`: the socket, and whether it was named, so that no daemon is started for it. */
function findSocket(named, environ) {
  const explicit = named || environ.FOVEAL_SOCKET;
  if (explicit) return { path: path.resolve(explicit), explicit: true };
  return { path: runningSocket(environ) || defaultSocket(environ), explicit: false };
}

/**
 * Return whether there is a socket. Throws an `Error` whose message says why it can't be used, where another
 * user could have put it there or could use it.
 */
function checkSocket(socket) {
  const status = lstat(socket);
  if (!status) return false;
  for (const place of [path.dirname(socket), socket]) {
    const one = lstat(place);
    if (!one || one.uid !== process.getuid() || one.mode & 0o077) {
      throw new Error(`${place} isn't yours alone; see: foveal doctor`);
    }
  }
  if (!status.isSocket()) throw new Error(`${socket} is not a socket; see: foveal doctor`);
  return true;
}

function runningSocket(environ) {
  const file = path.join(stateFolder(environ), "daemon.json");
  const status = lstat(file);
  if (!status || !status.isFile() || status.uid !== process.getuid() || status.size > INFO_MAX_BYTES) return null;
  let info;
  try {
    info = JSON.parse(fs.readFileSync(file, "utf8"));
  } catch {
    return null; // it was just replaced, or is damaged: the default holds
  }
  const found = info && info.socket;
  return typeof found === "string" && path.isAbsolute(found) && lstat(found) ? found : null;
}

function stateFolder(environ) {
  if (environ.FOVEAL_STATE_DIR) return path.resolve(environ.FOVEAL_STATE_DIR);
  const base = environ.XDG_STATE_HOME;
  if (base && path.isAbsolute(base)) return path.join(base, "foveal");
  const place = process.platform === "darwin" ? "Library/Application Support" : ".local/state";
  return path.join(os.homedir(), place, "foveal");
}

function defaultSocket(environ) {
  const runtime = environ.XDG_RUNTIME_DIR;
  if (runtime && path.isAbsolute(runtime) && isOwnFolder(runtime) && fits(path.join(runtime, "foveal"))) {
    return path.join(runtime, "foveal", "foveal.sock");
  }
  const name = `foveal-${process.getuid()}`;
  const temporary = environ.TMPDIR;
  if (temporary && path.isAbsolute(temporary) && lstat(temporary) && fits(path.join(temporary, name))) {
    return path.join(temporary, name, "foveal.sock");
  }
  return path.join("/tmp", name, "foveal.sock");
}

function fits(folder) {
  return Buffer.byteLength(folder) + HTTP_NAME_BYTES <= SOCKET_MAX_BYTES;
}

function isOwnFolder(folder) {
  const status = fs.statSync(folder, { throwIfNoEntry: false });
  return Boolean(status && status.isDirectory() && status.uid === process.getuid());
}

function lstat(place) {
  return fs.lstatSync(place, { throwIfNoEntry: false });
}

module.exports = { findSocket, checkSocket };
