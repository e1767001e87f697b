#!/usr/bin/env node
import "../lib/cli/programs/create.js"
