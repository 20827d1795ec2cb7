/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

/**
 * A pool of connections as the queue M/M/c: requests come at random (Poisson), hold a connection for an exponential time, and
 * wait in line when none is free.
 *
 * @param load busy connections in the mean, by Little's law: requests per second * seconds that each holds a connection
 * @param connections of the pool; more than the load, or the line has no end
 */
record ErlangC(double load, int connections) {

    ErlangC {
        if (!(load > 0 && load < connections)) {
            throw new IllegalArgumentException(
                    "%d connections cannot bear a load of %s; it has to be above 0 and below that"
                            .formatted(connections, load));
        }
    }

    /** The probability that a request finds every connection busy. */
    double waits() {
        double blocked = 1;
        for (int i = 1; i <= connections; i++) {
            blocked = load * blocked / (i + load * blocked);
        }
        return connections * blocked / (connections - load * (1 - blocked));
    }

    /** Mean wait of all requests, in units of the mean time that one holds a connection. */
    double meanWait() {
        return waits() / (connections - load);
    }

    /** The wait that all but this part of the requests stay below, in units of the mean time that one holds a connection. */
    double waitExceededBy(double part) {
        return Math.max(0, Math.log(waits() / part) / (connections - load));
    }

    /** The smallest pool in which no more than this part of the requests waits. */
    static ErlangC smallest(double load, double part) {
        int connections = (int) Math.floor(load) + 1;
        while (new ErlangC(load, connections).waits() > part) {
            connections++;
        }
        return new ErlangC(load, connections);
    }
}
