/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jpa;

import static org.assertj.core.api.Assertions.assertThat;

import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.Id;
import jakarta.persistence.PersistenceConfiguration;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.postgresql.ds.PGSimpleDataSource;
import org.shardflake.ShardflakeId;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.PostgresServer;

/** With Hibernate. */
class ShardflakeIdConverterTest {

    private static final ShardflakeId PHOTO = ShardflakeId.of(499335931086511104L);

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(1).prepare(ShardflakeIdConverterTest::createTable);

    private static EntityManagerFactory entities;

    @Entity(name = "photo_comment")
    static class Comment {
        @Id
        private Long id;

        @Column(name = "photo_id")
        private ShardflakeId photo;

        @Column(name = "reply_to")
        private @Nullable ShardflakeId replyTo;

        @SuppressWarnings("NullAway.Init") // JPA fills them
        protected Comment() {}

        Comment(ShardflakeId id, ShardflakeId photo, @Nullable ShardflakeId replyTo) {
            this.id = id.value();
            this.photo = photo;
            this.replyTo = replyTo;
        }

        ShardflakeId id() {
            return ShardflakeId.of(id);
        }
    }

    private static void createTable(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(
                    "CREATE TABLE photo_comment (id bigint PRIMARY KEY, photo_id bigint NOT NULL, reply_to bigint)");
        }
    }

    @BeforeAll
    static void connect() {
        PostgresServer server = postgres.database(0).server();
        PGSimpleDataSource database = new PGSimpleDataSource();
        database.setUrl(postgres.database(0).jdbcUrl());
        database.setUser(server.user());
        database.setPassword(server.password());
        entities = new PersistenceConfiguration("comments")
                .managedClass(Comment.class)
                .managedClass(ShardflakeIdConverter.class)
                .property("jakarta.persistence.nonJtaDataSource", database)
                .createEntityManagerFactory();
    }

    @AfterAll
    static void close() {
        entities.close();
    }

    @Test
    void attributesAreKeptAsBigintAndCompared() {
        Comment first = new Comment(ShardflakeId.of(1), PHOTO, null);
        Comment reply = new Comment(ShardflakeId.of(2), PHOTO, first.id());
        entities.runInTransaction(session -> {
            session.persist(first);
            session.persist(reply);
            session.persist(new Comment(ShardflakeId.of(3), ShardflakeId.of(7), null));
        });

        Object column = entities.callInTransaction(session -> session.createNativeQuery(
                        "SELECT photo_id FROM photo_comment WHERE reply_to = 1", Long.class)
                .getSingleResult());
        assertThat(column).isEqualTo(PHOTO.value());

        List<Comment> comments = entities.callInTransaction(
                session -> session.createQuery("FROM photo_comment WHERE photo = :photo ORDER BY id", Comment.class)
                        .setParameter("photo", PHOTO)
                        .getResultList());
        assertThat(comments).extracting(Comment::id).containsExactly(first.id(), reply.id());
        assertThat(comments).extracting(comment -> comment.replyTo).containsExactly(null, first.id());
    }
}
