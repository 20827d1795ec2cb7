/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.jpa;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.hibernate.Hibernate;
import org.hibernate.SessionFactory;
import org.hibernate.stat.Statistics;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.IdLayout;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.exception.CrossShardException;
import org.shardflake.spring.PhotoInstallation;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.dao.OptimisticLockingFailureException;
import org.springframework.dao.TransientDataAccessException;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.orm.jpa.EntityManagerHolder;
import org.springframework.transaction.IllegalTransactionStateException;
import org.springframework.transaction.TransactionSuspensionNotSupportedException;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/** Hibernate and Spring Data on shards. Uid 2 is in shard 2 on the first server, uid 3 in shard 3 on the second. */
class JpaTest {

    static final String TABLES = """
            --liquibase formatted sql
            --changeset app:photo
            CREATE TABLE album (id bigint PRIMARY KEY, uid bigint NOT NULL, name varchar(255));
            CREATE TABLE photo (id bigint PRIMARY KEY, uid bigint NOT NULL, title varchar(255), version int NOT NULL, album_id bigint REFERENCES album);
            CREATE TABLE setting (name varchar(255) PRIMARY KEY, content varchar(255), uid bigint);
            """;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    private static PhotoInstallation installation;
    private static ConfigurableApplicationContext application;
    private static PhotoWork work;
    private static Photos photos;

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @Import(PhotoLibrary.class)
    static class Application {

        @Bean
        PhotoWork work() {
            return new PhotoWork();
        }
    }

    @BeforeAll
    static void start(@TempDir Path directory) throws Exception {
        installation = PhotoInstallation.create(postgres, directory, TABLES);
        application = start("--spring.jpa.hibernate.ddl-auto=validate");
        work = application.getBean(PhotoWork.class);
        photos = application.getBean(Photos.class);
    }

    private static ConfigurableApplicationContext start(String... more) {
        String[] arguments = installation.argumentsForJpa(
                "--spring.jpa.properties.hibernate.generate_statistics=true",
                "--spring.jpa.properties.hibernate.cache.region.factory_class=jcache",
                "--spring.jpa.properties.hibernate.javax.cache.missing_cache_strategy=create",
                "--spring.jpa.properties.hibernate.session.events.log=false",
                "--spring.main.web-application-type=none",
                "--shardflake.retry.max-tries=400",
                "--shardflake.pool.size=4");
        String[] all = Arrays.copyOf(arguments, arguments.length + more.length);
        System.arraycopy(more, 0, all, arguments.length, more.length);
        return SpringApplication.run(Application.class, all);
    }

    @AfterAll
    static void stop() {
        application.close();
    }

    @BeforeEach
    void empty() throws SQLException {
        for (int shard : List.of(2, 3)) {
            sql(shard, "SELECT shardflake.unfence_shard(%s)".formatted(shard));
            sql(
                    shard,
                    "DELETE FROM ${shard.schema}.photo; DELETE FROM ${shard.schema}.album; DELETE FROM ${shard.schema}.setting");
        }
    }

    private static void sql(int shard, String sql) {
        try {
            installation.inShard(shard, sql);
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    private static Statistics statistics() {
        Statistics statistics = application
                .getBean(EntityManagerFactory.class)
                .unwrap(SessionFactory.class)
                .getStatistics();
        statistics.clear();
        return statistics;
    }

    @Test
    void aRepositoryWorksOnTheShardOfTheMethod() throws SQLException {
        long id = work.in(2, entities -> photos.save(new Photo(2, "two"))).id();
        work.in(3, entities -> photos.save(new Photo(3, "three")));

        assertThat(IdLayout.shard(id)).isEqualTo(2);
        assertThat(installation.photos(2)).isEqualTo(1);
        assertThat(installation.photos(3)).isEqualTo(1);
        assertThat(work.<Long>read(2, entities -> photos.countByTitle("two"))).isEqualTo(1);
        assertThat(work.<Long>read(3, entities -> photos.countByTitle("two"))).isZero();
        assertThat(work.<String>in(
                        2, entities -> photos.findById(id).orElseThrow().title()))
                .isEqualTo("two");
    }

    @Test
    void theServiceOfTheGuideWorks() throws SQLException {
        PhotoLibrary library = application.getBean(PhotoLibrary.class);

        long id = library.add(2, "sunrise").id();
        library.rename(id, "sunset");

        assertThat(installation.number(
                        0, "SELECT count(*) FROM shard_0002.photo WHERE title = 'sunset' AND version = 1"))
                .isEqualTo(1);
    }

    @Test
    void insertsAreSentInBatches() throws SQLException {
        Statistics statistics = statistics();

        work.in(2, entities -> photos.saveAll(manyPhotos(120)));

        assertThat(installation.photos(2)).isEqualTo(120);
        assertThat(statistics.getEntityInsertCount()).isEqualTo(120);
        // For 50 ids or more each, and for all inserts.
        assertThat(statistics.getPrepareStatementCount()).isLessThanOrEqualTo(4);
    }

    static List<Photo> manyPhotos(int count) {
        return IntStream.range(0, count)
                .mapToObj(i -> new Photo(2, "photo " + i))
                .toList();
    }

    @Test
    void idsAreOfTheColumnsSequence() throws SQLException {
        long id = work.in(2, entities -> photos.save(new Photo(2, "ours"))).id();
        long another = work.in(2, entities -> {
            IdentityPhoto photo = new IdentityPhoto(2, "the default's");
            entities.persist(photo);
            return photo.id();
        });

        assertThat(another).isGreaterThan(id);
        assertThat(IdLayout.shard(another)).isEqualTo(2);
    }

    @Test
    void lazyLoadingWorksInTheTransaction() {
        long id = work.in(2, entities -> {
            Album album = new Album(2, "summer");
            entities.persist(album);
            for (Photo photo : manyPhotos(3)) {
                photo.putInto(album);
                entities.persist(photo);
            }
            return album.id();
        });

        assertThat(work.<Integer>read(2, entities -> {
                    Album album = entities.find(Album.class, id);
                    assertThat(Hibernate.isInitialized(album.photos())).isFalse();
                    return album.photos().size();
                }))
                .isEqualTo(3);
        assertThat(work.<String>read(
                        2,
                        entities -> Objects.requireNonNull(
                                        photos.findAll().get(0).album())
                                .name()))
                .isEqualTo("summer");
    }

    @Test
    void anOldVersionIsRefused() {
        long id = work.in(2, entities -> photos.save(new Photo(2, "first"))).id();

        assertThatThrownBy(() -> work.in(2, entities -> {
                    Photo photo = entities.find(Photo.class, id);
                    sql(2, "UPDATE ${shard.schema}.photo SET version = version + 1");
                    photo.rename("second");
                    return photo;
                }))
                .isInstanceOf(OptimisticLockingFailureException.class);
    }

    @Test
    void aMethodThatMeetsAFenceIsRunAgain() throws SQLException {
        sql(2, "SELECT shardflake.fence_shard(2)");
        int[] runs = {0};

        work.in(2, entities -> {
            if (++runs[0] == 3) {
                sql(2, "SELECT shardflake.unfence_shard(2)");
            }
            return photos.saveAll(manyPhotos(3));
        });

        assertThat(runs[0]).isEqualTo(3);
        assertThat(installation.photos(2)).isEqualTo(3);
    }

    @Test
    void aMethodThatOnlyReadsMeetsTheFenceAtItsCommit() {
        sql(2, "SELECT shardflake.fence_shard(2)");
        int[] runs = {0};

        work.in(2, entities -> {
            if (++runs[0] == 3) {
                sql(2, "SELECT shardflake.unfence_shard(2)");
            }
            return photos.count();
        });

        assertThat(runs[0]).isEqualTo(3);
    }

    @Test
    void withoutRetryTheRefusalIsTransient() {
        sql(2, "SELECT shardflake.fence_shard(2)");

        assertThatThrownBy(() -> work.once(2, entities -> photos.saveAndFlush(new Photo(2, "refused"))))
                .isInstanceOf(TransientDataAccessException.class)
                .hasRootCauseInstanceOf(SQLException.class);
    }

    @Test
    void jdbcTakesPartInTheTransaction() throws SQLException {
        JdbcClient jdbc = application.getBean(JdbcClient.class);

        assertThatThrownBy(() -> work.in(2, entities -> {
                    photos.saveAndFlush(new Photo(2, "by Hibernate"));
                    assertThat(jdbc.sql("SELECT count(*) FROM photo")
                                    .query(Long.class)
                                    .single())
                            .isEqualTo(1);
                    throw new IllegalStateException("roll back");
                }))
                .hasMessage("roll back");
        assertThat(installation.photos(2)).isZero();
    }

    @Test
    void hibernateTakesPartInTheTransactionOfTheRouter() throws SQLException {
        ShardRouter router = application.getBean(ShardRouter.class);

        router.run(2, tx -> work.in(2, entities -> photos.save(new Photo(2, "kept"))));
        assertThat(installation.photos(2)).isEqualTo(1);

        assertThatThrownBy(() -> router.write(2, tx -> {
                    work.in(2, entities -> photos.save(new Photo(2, "not kept")));
                    throw new IllegalStateException("roll back");
                }))
                .hasMessage("roll back");
        assertThatThrownBy(() -> router.run(2, tx -> {
                    try {
                        work.in(2, entities -> {
                            throw new IllegalStateException("inner");
                        });
                    } catch (IllegalStateException e) {
                        // Too late.
                    }
                }))
                .hasStackTraceContaining("has failed");
        assertThatThrownBy(() -> router.run(2, tx -> work.inNew(2, EntityManager::isOpen)))
                .isInstanceOf(TransactionSuspensionNotSupportedException.class);
        assertThat(installation.photos(2)).isEqualTo(1);
    }

    @Test
    void requiresNewIsIndependent() throws SQLException {
        assertThatThrownBy(() -> work.in(2, entities -> {
                    work.inNew(2, inner -> photos.save(new Photo(2, "kept")));
                    photos.save(new Photo(2, "not kept"));
                    throw new IllegalStateException("roll back");
                }))
                .hasMessage("roll back");
        assertThat(installation.photos(2)).isEqualTo(1);
    }

    @Test
    void anotherShardInsideIsRefused() {
        assertThatThrownBy(() -> work.in(2, entities -> work.in(3, inner -> 1)))
                .isInstanceOf(CrossShardException.class);
    }

    @Test
    void theSecondLevelCacheKeepsShardsApart() {
        Statistics statistics = statistics();
        for (long uid : List.of(2L, 3L)) {
            work.in(uid, entities -> {
                entities.persist(new Setting("theme", "of " + uid));
                return uid;
            });
        }

        for (long uid : List.of(2L, 3L)) {
            assertThat(work.<String>read(
                            uid,
                            entities -> entities.find(Setting.class, "theme").content()))
                    .isEqualTo("of " + uid);
        }
        assertThat(statistics.getSecondLevelCacheHitCount()).isEqualTo(2);
    }

    @Test
    void aSessionOfAnotherShardIsRefused() {
        EntityManagerFactory factory = application.getBean(EntityManagerFactory.class);
        try (EntityManager ofTheRequest = factory.createEntityManager()) {
            TransactionSynchronizationManager.bindResource(factory, new EntityManagerHolder(ofTheRequest));
            assertThatThrownBy(() -> work.in(2, entities -> photos.count()))
                    .isInstanceOf(IllegalTransactionStateException.class)
                    .hasMessageContaining("spring.jpa.open-in-view=false");
        } finally {
            TransactionSynchronizationManager.unbindResource(factory);
        }
    }

    @Test
    void withoutAShardItSaysWhatToDo() {
        assertThatThrownBy(() -> photos.count()).hasStackTraceContaining("@OnShard");
    }

    @Test
    void refusesToChangeTables() {
        for (String action : List.of("update", "create-drop")) {
            assertThatThrownBy(() ->
                            start("--spring.jpa.hibernate.ddl-auto=" + action).close())
                    .hasStackTraceContaining("Hibernate cannot change the tables of shards")
                    .hasStackTraceContaining("is " + action);
        }
    }

    @Test
    void validationComparesEntitiesWithTheFirstShard() throws SQLException {
        sql(0, "ALTER TABLE ${shard.schema}.photo RENAME title TO heading");
        try {
            assertThatThrownBy(() ->
                            start("--spring.jpa.hibernate.ddl-auto=validate").close())
                    .hasStackTraceContaining("missing column [title] in table");
        } finally {
            sql(0, "ALTER TABLE ${shard.schema}.photo RENAME heading TO title");
        }
    }
}
