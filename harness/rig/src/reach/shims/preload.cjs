// Lets a Node program reach the chat server as api.telegram.org, and no other machine.
//
// Node loads this file at its start, because clitape names it in NODE_OPTIONS. It serves clients that take no proxy from
// the environment, such as grammY, telegraf, `https` and `fetch`, without a change of their files. Other hosts than this
// machine are refused and told to clitape's proxy.
'use strict';

const dgram = require('node:dgram');
const dns = require('node:dns');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const tls = require('node:tls');

const reach = JSON.parse(fs.readFileSync(path.join(__dirname, 'reach.json'), 'utf8'));
// An address that no program uses. It stands for the Bot API until a connection is made, since a program may look the
// name up first and then connect to the address.
const STANDS_FOR_IT = '127.84.71.66';
const authority = fs.readFileSync(reach.ca);
const connect = net.Socket.prototype.connect;

const text = (host) => String(host ?? 'localhost').replace(/\.$/, '').replace(/^\[(.*)\]$/, '$1').toLowerCase();
const isBotApi = (host) => host === reach.name || host === STANDS_FOR_IT;
const isHere = (host) =>
  ['', 'localhost', '::1', '::', '0.0.0.0', os.hostname().toLowerCase()].includes(host) ||
  (net.isIP(host) !== 0 && /^(127\.|::ffff:127\.)/.test(host));

function failed(code, syscall, host, port) {
  const error = new Error(`${syscall} ${code} ${host}${port ? `:${port}` : ''} (clitape refuses it)`);
  return Object.assign(error, { code, syscall, hostname: host, address: host, port });
}

/** Tells the proxy which host was asked for: it refuses and lists it. Goes on when it has. */
function refuse(host, port, then) {
  const name = net.isIP(host) === 6 ? `[${host}]` : host.replace(/[^a-z0-9._-]/g, '_') || '_';
  const target = `${name}:${Number(port) || 443}`;
  const teller = new net.Socket();
  teller.setTimeout(5000, () => teller.destroy());
  teller.on('error', () => {});
  teller.on('data', () => teller.destroy());
  teller.on('close', then);
  connect.call(teller, { host: '127.0.0.1', port: reach.proxy });
  teller.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
}

net.Socket.prototype.connect = function (...args) {
  const normalized = Array.isArray(args[0]) ? args[0] : net._normalizeArgs(args);
  const [options, callback] = normalized;
  if (options.path) return connect.call(this, normalized);
  const host = text(options.host);
  if (isBotApi(host)) {
    normalized[0] = { ...options, host: '127.0.0.1', port: reach.bot_api, family: 4, lookup: undefined };
  } else if (host === os.hostname().toLowerCase()) {
    normalized[0] = { ...options, host: '127.0.0.1', lookup: undefined };
  } else if (!isHere(host)) {
    const [code, syscall] = net.isIP(host) ? ['ECONNREFUSED', 'connect'] : ['ENOTFOUND', 'getaddrinfo'];
    if (typeof callback === 'function') this.once('connect', callback);
    this.connecting = true;
    refuse(host, options.port, () => this.destroy(failed(code, syscall, host, options.port)));
    return this;
  }
  return connect.call(this, normalized);
};

// A context that names its authorities trusts the one of the run too.
const createSecureContext = tls.createSecureContext;
tls.createSecureContext = function (options, ...rest) {
  const withIt = options?.ca ? { ...options, ca: [].concat(options.ca, authority) } : options;
  return createSecureContext.call(this, withIt, ...rest);
};

/** What is looked up in place of a host; null for one that is refused. */
function lookedUp(host) {
  const name = text(host);
  if (isBotApi(name)) return STANDS_FOR_IT;
  if (name === os.hostname().toLowerCase()) return '127.0.0.1';
  return isHere(name) || net.isIP(name) ? host : null;
}

const lookup = dns.lookup;
dns.lookup = function (host, ...rest) {
  const place = lookedUp(host);
  if (place !== null) return lookup.call(this, place, ...rest);
  refuse(text(host), 0, () => rest.at(-1)(failed('ENOTFOUND', 'getaddrinfo', host)));
  return {};
};
Object.defineProperties(dns.lookup, Object.getOwnPropertyDescriptors(lookup));
const lookupInTime = dns.promises.lookup;
dns.promises.lookup = function (host, ...rest) {
  const place = lookedUp(host);
  if (place !== null) return lookupInTime.call(this, place, ...rest);
  return new Promise((_, reject) => {
    refuse(text(host), 0, () => reject(failed('ENOTFOUND', 'getaddrinfo', host)));
  });
};

// The functions that ask a name server: no packet is sent.
const asks = (name) => /^(resolve|reverse)/.test(name);
const known = (name, host) => (['resolve', 'resolve4'].includes(name) && isBotApi(text(host)) ? [STANDS_FOR_IT] : null);
for (const functions of [dns, dns.Resolver.prototype]) {
  for (const name of Object.getOwnPropertyNames(functions).filter(asks)) {
    functions[name] = function (host, ...rest) {
      const found = known(name, host);
      if (found) return void process.nextTick(rest.at(-1), null, found);
      refuse(text(host), 0, () => rest.at(-1)(failed('ENOTFOUND', name, host)));
    };
  }
}
for (const functions of [dns.promises, dns.promises.Resolver.prototype]) {
  for (const name of Object.getOwnPropertyNames(functions).filter(asks)) {
    functions[name] = function (host) {
      const found = known(name, host);
      if (found) return Promise.resolve(found);
      return new Promise((_, reject) => refuse(text(host), 0, () => reject(failed('ENOTFOUND', name, host))));
    };
  }
}

for (const name of ['send', 'connect']) {
  const plain = dgram.Socket.prototype[name];
  dgram.Socket.prototype[name] = function (...args) {
    const hosts = args.slice(1).filter((it) => typeof it === 'string').map(text);
    const foreign = hosts.find((host) => !isHere(host));
    if (foreign === undefined) return plain.apply(this, args);
    const callback = args.at(-1);
    refuse(foreign, 0, () => {
      const error = failed('ENETUNREACH', name, foreign);
      if (typeof callback === 'function') callback(error);
      else this.emit('error', error);
    });
  };
}

require('node:module').syncBuiltinESMExports();
