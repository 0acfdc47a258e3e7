#!/usr/bin/env node
'use strict'
// Runs the program, which is in a package for the platform: passes on arguments,
// standard input and output, signals, and the exit code.

const { spawn } = require('node:child_process')
const { constants } = require('node:os')
const { name, version, private: clone, optionalDependencies } = require('../package.json')

const windows = process.platform === 'win32'
const platform = `${name}-${process.platform}-${process.arch}`
const program = locate()

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGBREAK']) {
  // Without a listener this process would end before the program. On Windows a
  // console sends Ctrl-C to both, and kill would end the program at once.
  try {
    process.on(signal, () => windows || child.kill(signal))
  } catch {} // the system does not have this signal
}
const env = { ...process.env }
if (env.npm_command) env.PICKUP_COMMAND = `npx ${name}` // what hints say, because pickup is not in the PATH
const child = spawn(program, process.argv.slice(2), { stdio: 'inherit', env })
if (process.env.npm_command) {
  // At a signal npm and npx end the shell that runs this command, and the shell does
  // not pass the signal on.
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    child.kill('SIGTERM')
  }, 500)
}
// The modules of this package start the command with a channel, which closes when their
// process ends.
if (process.channel) process.on('disconnect', () => child.kill('SIGTERM'))
child.on('error', (error) => fail(`start ${program}: ${error.message}`))
child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code)
  // End as the program did.
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
  process.exit(128 + constants.signals[signal]) // Node.js ignores this signal
})

function locate() {
  if (clone) return 'pickup' // a clone of the repository has no program here
  try {
    return require.resolve(`${platform}/bin/pickup${windows ? '.exe' : ''}`)
  } catch {
    if (!(platform in optionalDependencies)) {
      const known = Object.keys(optionalDependencies).map((p) => p.slice(name.length + 1)).join(', ')
      fail(`no package for ${process.platform}-${process.arch}; there are packages for ${known}`)
    }
    fail(`the package ${platform}, which contains the program, is not installed.
npm leaves it out with --omit=optional, and keeps that of another system if node_modules was copied from there.
To install it:  npm install ${platform}@${version}`)
  }
}

function fail(message) {
  console.error(`pickup: ${message}`)
  process.exit(1)
}
