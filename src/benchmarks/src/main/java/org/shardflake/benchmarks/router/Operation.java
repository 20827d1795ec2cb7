/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import java.sql.SQLException;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import org.shardflake.benchmarks.router.Peer.Photo;

/** The measured operations; those that insert come last, so that until then all candidates have the same rows. */
enum Operation {
    SELECT("point select", "select") {
        @Override
        void run(Peer peer, PhotoServers servers) throws SQLException {
            Photo photo = any(servers);
            require(peer.select(photo.id()).equals(photo));
        }
    },
    SELECT_IN_TRANSACTION("point select in a transaction", "select-transaction") {
        @Override
        void run(Peer peer, PhotoServers servers) throws SQLException {
            Photo photo = any(servers);
            require(peer.selectInTransaction(photo.id()).equals(photo));
        }
    },
    MULTI_GET("100 rows by id", "multi-get") {
        @Override
        void run(Peer peer, PhotoServers servers) throws SQLException {
            Map<Long, Photo> wanted = some(servers);
            require(peer.photos(List.copyOf(wanted.keySet())).size() == wanted.size());
        }

        @Override
        void check(RouterCandidate candidate, Peer peer, PhotoServers servers) throws SQLException {
            Map<Long, Photo> wanted = some(servers);
            require(new HashSet<>(peer.photos(List.copyOf(wanted.keySet()))).equals(new HashSet<>(wanted.values())));
        }
    },
    NEWEST("newest 20 of all shards", "newest") {
        @Override
        void run(Peer peer, PhotoServers servers) throws SQLException {
            require(peer.newest(RouterCandidate.NEWEST).size() == RouterCandidate.NEWEST);
        }

        @Override
        void check(RouterCandidate candidate, Peer peer, PhotoServers servers) throws SQLException {
            require(peer.newest(RouterCandidate.NEWEST).equals(servers.newest(RouterCandidate.NEWEST)));
        }
    },
    INSERT("insert", "insert") {
        @Override
        void run(Peer peer, PhotoServers servers) throws SQLException {
            require(peer.insert(any(servers).uid(), NEW) > 0);
        }

        @Override
        void check(RouterCandidate candidate, Peer peer, PhotoServers servers) throws SQLException {
            long uid = any(servers).uid();
            require(servers.hasRow(candidate, new Photo(peer.insert(uid, NEW), uid, NEW)));
        }
    },
    INSERT_IN_TRANSACTION("insert in a transaction", "insert-transaction") {
        @Override
        void run(Peer peer, PhotoServers servers) throws SQLException {
            require(peer.insertInTransaction(any(servers).uid(), NEW) > 0);
        }

        @Override
        void check(RouterCandidate candidate, Peer peer, PhotoServers servers) throws SQLException {
            long uid = any(servers).uid();
            require(servers.hasRow(candidate, new Photo(peer.insertInTransaction(uid, NEW), uid, NEW)));
        }
    };

    private static final String NEW = "a new photo";
    private static final int IDS = 100;

    private final String label;
    private final String fileName;

    Operation(String label, String fileName) {
        this.label = label;
        this.fileName = fileName;
    }

    String label() {
        return label;
    }

    String fileName() {
        return fileName;
    }

    boolean inserts() {
        return this == INSERT || this == INSERT_IN_TRANSACTION;
    }

    boolean isOfOneShard() {
        return this != MULTI_GET && this != NEWEST;
    }

    /** Runs the operation once, with a check of the result that costs next to nothing. */
    abstract void run(Peer peer, PhotoServers servers) throws SQLException;

    /** Runs the operation once and compares the whole result with the expected one; outside the measured time. */
    void check(RouterCandidate candidate, Peer peer, PhotoServers servers) throws SQLException {
        run(peer, servers);
    }

    private static Photo any(PhotoServers servers) {
        List<Photo> photos = servers.photos();
        return photos.get(ThreadLocalRandom.current().nextInt(photos.size()));
    }

    private static Map<Long, Photo> some(PhotoServers servers) {
        Map<Long, Photo> some = new LinkedHashMap<>();
        while (some.size() < Math.min(IDS, servers.photos().size())) {
            Photo photo = any(servers);
            some.put(photo.id(), photo);
        }
        return some;
    }

    private static void require(boolean right) {
        if (!right) {
            throw new IllegalStateException("a wrong result");
        }
    }
}
