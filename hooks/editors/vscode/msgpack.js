// Owns MessagePack, as far as the daemon's wire needs it: no extension types, no I/O.
"use strict";

const DEPTH_MAX = 128;

/** Return a value as MessagePack. Undefined fields of an object are left out. Throws on what has no form. */
function encode(value) {
  const parts = [];
  put(parts, value, 0);
  return Buffer.concat(parts);
}

/** Thrown by `decode` where bytes can't be MessagePack, and never for too few of them. */
class FormatError extends Error {}

class TooShort extends Error {
  constructor(missing) {
    super();
    this.missing = missing;
  }
}

/**
 * Read one value. Returns `{value, end, missing: 0}` with the offset behind it; or only `missing`, how many
 * bytes there must be more at least.
 * Whole numbers above 2^53 become BigInt. Throws `FormatError`.
 */
function decode(bytes, start = 0) {
  const reader = new Reader(bytes, start);
  try {
    return { value: reader.value(0), end: reader.offset, missing: 0 };
  } catch (error) {
    if (error instanceof TooShort) return { missing: error.missing };
    throw error;
  }
}

function put(parts, value, depth) {
  if (depth > DEPTH_MAX) throw new TypeError("the value is nested too deeply");
  if (value === null || value === undefined) parts.push(Buffer.of(0xc0));
  else if (typeof value === "boolean") parts.push(Buffer.of(value ? 0xc3 : 0xc2));
  else if (typeof value === "number") putNumber(parts, value);
  else if (typeof value === "string") putText(parts, value);
  else if (Buffer.isBuffer(value)) putSized(parts, value.length, [0xc4, 0xc5, 0xc6], parts.push.bind(parts, value));
  else if (Array.isArray(value)) {
    putHead(parts, value.length, 0x90, 0xdc);
    for (const one of value) put(parts, one, depth + 1);
  } else if (typeof value === "object") {
    const entries = Object.entries(value).filter(([, one]) => one !== undefined);
    putHead(parts, entries.length, 0x80, 0xde);
    for (const [name, one] of entries) {
      putText(parts, name);
      put(parts, one, depth + 1);
    }
  } else throw new TypeError(`a ${typeof value} has no form in MessagePack`);
}

function putNumber(parts, value) {
  let bytes;
  if (!Number.isSafeInteger(value)) {
    bytes = Buffer.alloc(9);
    bytes[0] = 0xcb;
    bytes.writeDoubleBE(value, 1);
  } else if (value >= -32 && value < 128) {
    bytes = Buffer.of(value & 0xff);
  } else if (value >= 0 && value <= 0xffffffff) {
    bytes = Buffer.alloc(5);
    bytes[0] = 0xce;
    bytes.writeUInt32BE(value, 1);
  } else {
    bytes = Buffer.alloc(9);
    bytes[0] = 0xd3;
    bytes.writeBigInt64BE(BigInt(value), 1);
  }
  parts.push(bytes);
}

function putText(parts, text) {
  const bytes = Buffer.from(text, "utf8"); // halves of surrogate pairs become U+FFFD
  if (bytes.length < 32) parts.push(Buffer.of(0xa0 | bytes.length), bytes);
  else putSized(parts, bytes.length, [0xd9, 0xda, 0xdb], () => parts.push(bytes));
}

function putSized(parts, size, [one, two, four], putBody) {
  if (size < 0x100) parts.push(Buffer.of(one, size));
  else if (size < 0x10000) parts.push(Buffer.of(two, size >> 8, size & 0xff));
  else parts.push(wide(four, size));
  putBody();
}

function putHead(parts, size, small, two) {
  if (size < 16) parts.push(Buffer.of(small | size));
  else if (size < 0x10000) parts.push(Buffer.of(two, size >> 8, size & 0xff));
  else parts.push(wide(two + 1, size));
}

function wide(tag, size) {
  const bytes = Buffer.alloc(5);
  bytes[0] = tag;
  bytes.writeUInt32BE(size, 1);
  return bytes;
}

class Reader {
  constructor(bytes, offset) {
    this.bytes = bytes;
    this.offset = offset;
  }

  value(depth) {
    if (depth > DEPTH_MAX) throw new FormatError("the value is nested too deeply");
    const tag = this.unsigned(1);
    if (tag < 0x80) return tag;
    if (tag < 0x90) return this.map(tag & 0x0f, depth);
    if (tag < 0xa0) return this.list(tag & 0x0f, depth);
    if (tag < 0xc0) return this.text(tag & 0x1f);
    if (tag >= 0xe0) return tag - 0x100;
    return this.tagged(tag, depth);
  }

  tagged(tag, depth) {
    switch (tag) {
      case 0xc0: return null;
      case 0xc2: return false;
      case 0xc3: return true;
      case 0xc4: return this.slice(this.unsigned(1));
      case 0xc5: return this.slice(this.unsigned(2));
      case 0xc6: return this.slice(this.unsigned(4));
      case 0xca: return this.slice(4).readFloatBE();
      case 0xcb: return this.slice(8).readDoubleBE();
      case 0xcc: return this.unsigned(1);
      case 0xcd: return this.unsigned(2);
      case 0xce: return this.unsigned(4);
      case 0xcf: return narrow(this.slice(8).readBigUInt64BE());
      case 0xd0: return this.slice(1).readInt8();
      case 0xd1: return this.slice(2).readInt16BE();
      case 0xd2: return this.slice(4).readInt32BE();
      case 0xd3: return narrow(this.slice(8).readBigInt64BE());
      case 0xd9: return this.text(this.unsigned(1));
      case 0xda: return this.text(this.unsigned(2));
      case 0xdb: return this.text(this.unsigned(4));
      case 0xdc: return this.list(this.unsigned(2), depth);
      case 0xdd: return this.list(this.unsigned(4), depth);
      case 0xde: return this.map(this.unsigned(2), depth);
      case 0xdf: return this.map(this.unsigned(4), depth);
      default: throw new FormatError(`the byte 0x${tag.toString(16)} begins no value that is known here`);
    }
  }

  slice(size) {
    const end = this.offset + size;
    if (end > this.bytes.length) throw new TooShort(end - this.bytes.length);
    const found = this.bytes.subarray(this.offset, end);
    this.offset = end;
    return found;
  }

  unsigned(size) {
    return this.slice(size).readUIntBE(0, size);
  }

  text(size) {
    return this.slice(size).toString("utf8");
  }

  list(size, depth) {
    const found = [];
    for (let left = size; left > 0; left--) found.push(this.value(depth + 1));
    return found;
  }

  map(size, depth) {
    const found = Object.create(null); // a key named __proto__ is a key like any other
    for (let left = size; left > 0; left--) {
      const name = this.value(depth + 1);
      if (typeof name !== "string") throw new FormatError("a map's key is no text");
      found[name] = this.value(depth + 1);
    }
    return found;
  }
}

function narrow(value) {
  return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value;
}

module.exports = { encode, decode, FormatError };
