/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.security.SecureRandom;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.OptionalLong;
import java.util.random.RandomGenerator;
import javax.sql.DataSource;

/**
 * The settings of generators. Each scheme uses those it needs and ignores the rest.
 *
 * @param clock the clock of a generator in this process; those in a database use the database's clock
 * @param random the source of random bits
 * @param worker the number that distinguishes this generator from others; otherwise claimed in the first data source,
 *     or found out
 * @param shard the logical shard of the ids, for schemes that have it inside
 * @param cluster the cluster 0..15 of {@code uniqueid}
 * @param mode the form of the ids of {@code uniqueid}
 * @param dataSources the databases that ids or worker ids come from, with connections in auto-commit mode; ticket servers
 *     need two
 * @param leaseTime how long a claim on a worker id lasts unless renewed, 100 ms or more; it is renewed at half time, by the
 *     call that makes an id
 */
public record GeneratorSettings(
        InstantSource clock,
        RandomGenerator random,
        OptionalLong worker,
        int shard,
        int cluster,
        UniqueIdMode mode,
        List<DataSource> dataSources,
        Duration leaseTime) {

    /** The default settings: the system's clock, secure randomness, shard 0, cluster 0, {@code SPREAD}, no database, claims of 10 minutes. */
    public static final GeneratorSettings DEFAULT = new GeneratorSettings(
            InstantSource.system(),
            new SecureRandom(),
            OptionalLong.empty(),
            0,
            0,
            UniqueIdMode.SPREAD,
            List.of(),
            Duration.ofMinutes(10));

    /** Refuses a claim too short to be of use. */
    public GeneratorSettings {
        if (leaseTime.compareTo(Duration.ofMillis(100)) < 0) {
            throw new IllegalArgumentException("lease time %s is less than PT0.1S".formatted(leaseTime));
        }
        dataSources = List.copyOf(dataSources);
    }

    /** These settings with another clock. */
    public GeneratorSettings withClock(InstantSource clock) {
        return new GeneratorSettings(clock, random, worker, shard, cluster, mode, dataSources, leaseTime);
    }

    /** These settings with another source of random bits. */
    public GeneratorSettings withRandom(RandomGenerator random) {
        return new GeneratorSettings(clock, random, worker, shard, cluster, mode, dataSources, leaseTime);
    }

    /** These settings with a worker id whose uniqueness the caller guarantees. */
    public GeneratorSettings withWorker(long worker) {
        return new GeneratorSettings(
                clock, random, OptionalLong.of(worker), shard, cluster, mode, dataSources, leaseTime);
    }

    /** These settings with another shard. */
    public GeneratorSettings withShard(int shard) {
        return new GeneratorSettings(clock, random, worker, shard, cluster, mode, dataSources, leaseTime);
    }

    /** These settings with another cluster. */
    public GeneratorSettings withCluster(int cluster) {
        return new GeneratorSettings(clock, random, worker, shard, cluster, mode, dataSources, leaseTime);
    }

    /** These settings with another form of ids. */
    public GeneratorSettings withMode(UniqueIdMode mode) {
        return new GeneratorSettings(clock, random, worker, shard, cluster, mode, dataSources, leaseTime);
    }

    /** These settings with other databases. */
    public GeneratorSettings withDataSources(DataSource... dataSources) {
        return new GeneratorSettings(clock, random, worker, shard, cluster, mode, List.of(dataSources), leaseTime);
    }

    /** These settings with another duration of claims. */
    public GeneratorSettings withLeaseTime(Duration leaseTime) {
        return new GeneratorSettings(clock, random, worker, shard, cluster, mode, dataSources, leaseTime);
    }

    /** The first database, for schemes that need one. */
    DataSource dataSource(String scheme) {
        if (dataSources.isEmpty()) {
            throw new IllegalArgumentException("scheme %s needs a server".formatted(scheme));
        }
        return dataSources.get(0);
    }
}
