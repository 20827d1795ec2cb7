/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import jakarta.persistence.EntityManagerFactory;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.hibernate.cfg.BatchSettings;
import org.hibernate.cfg.MultiTenancySettings;
import org.hibernate.cfg.SchemaToolingSettings;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.hibernate.id.enhanced.SequenceStyleGenerator;
import org.hibernate.metamodel.mapping.ModelPart;
import org.hibernate.metamodel.spi.MappingMetamodelImplementor;
import org.hibernate.persister.entity.EntityPersister;
import org.jspecify.annotations.Nullable;
import org.shardflake.CliCommand;
import org.shardflake.Sharding;
import org.shardflake.router.ShardRouter;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.orm.jpa.JpaVendorAdapter;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.vendor.HibernateJpaDialect;

/** Configures Hibernate to work on shards, and refuses configurations that would break them. */
final class HibernateSetUp implements BeanPostProcessor {

    private static final Log LOG = LogFactory.getLog(HibernateSetUp.class);

    /** The SQL types for @Lob, whose values PostgreSQL's driver stores as large objects. */
    private static final Set<Integer> LARGE_OBJECTS = Set.of(Types.BLOB, Types.CLOB, Types.NCLOB);

    private static final Set<String> HARMLESS = Set.of("none", "validate", "false", "");

    /** Whether a column's ids come from a sequence through next_id. */
    private static final String IS_ID_SEQUENCE = """
            SELECT EXISTS (
                SELECT FROM pg_catalog.pg_depend used JOIN pg_catalog.pg_attrdef d ON d.oid = used.objid
                 WHERE used.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass
                   AND used.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
                   AND used.refobjid = pg_catalog.to_regclass(pg_catalog.format('%I.%I', ?, ?))
                   AND pg_catalog.pg_get_expr(d.adbin, d.adrelid) LIKE '%next_id(%')
            """;

    /** The maximum batch size; the driver sends 256 statements without results before it waits for answers. */
    private static final int BATCH_SIZE = 200;

    private final Supplier<ShardRouter> router;

    HibernateSetUp(Supplier<ShardRouter> router) {
        this.router = router;
    }

    @Override
    public Object postProcessBeforeInitialization(Object bean, String name) {
        if (bean instanceof LocalContainerEntityManagerFactoryBean factory && isOurs(factory.getDataSource())) {
            configure(factory);
        }
        return bean;
    }

    private static boolean isOurs(@Nullable DataSource dataSource) {
        try {
            return dataSource != null && dataSource.isWrapperFor(CurrentShardDataSource.class);
        } catch (SQLException e) {
            return false;
        }
    }

    private void configure(LocalContainerEntityManagerFactoryBean factory) {
        Map<String, Object> properties = factory.getJpaPropertyMap();
        refuseChanges(properties, SchemaToolingSettings.HBM2DDL_AUTO);
        refuseChanges(properties, SchemaToolingSettings.JAKARTA_HBM2DDL_DATABASE_ACTION);
        HibernateShards shards = new HibernateShards(router);
        properties.put(MultiTenancySettings.MULTI_TENANT_CONNECTION_PROVIDER, shards);
        properties.put(MultiTenancySettings.MULTI_TENANT_IDENTIFIER_RESOLVER, shards);
        properties.putIfAbsent(BatchSettings.STATEMENT_BATCH_SIZE, BATCH_SIZE);
        JpaVendorAdapter vendor = factory.getJpaVendorAdapter();
        if (vendor != null && vendor.getJpaDialect() instanceof HibernateJpaDialect dialect) {
            dialect.setJdbcExceptionTranslator(new ShardExceptionTranslator());
        }
    }

    private static void refuseChanges(Map<String, Object> properties, String property) {
        String value = Objects.toString(properties.get(property), "none");
        if (!HARMLESS.contains(value)) {
            throw new ShardflakeStartException(
                    "Hibernate cannot change the tables of shards: %s is %s.".formatted(property, value),
                    "Set spring.jpa.hibernate.ddl-auto to none, or to validate, which compares the entities with the tables of the first shard."
                            + " Tables are changed in all shards by '" + CliCommand.SCHEMA_DEPLOY + "'.");
        }
    }

    @Override
    public Object postProcessAfterInitialization(Object bean, String name) {
        if (bean instanceof LocalContainerEntityManagerFactoryBean factory && isOurs(factory.getDataSource())) {
            EntityManagerFactory made = factory.getNativeEntityManagerFactory();
            SessionFactoryImplementor sessions = made.unwrap(SessionFactoryImplementor.class);
            SavedEntities.listenTo(sessions, router);
            MappingMetamodelImplementor entities = sessions.getMappingMetamodel();
            entities.forEachEntityDescriptor(this::checkIds);
            entities.forEachEntityDescriptor(entity -> warnOfLargeObjects(entity.getEntityName(), entity));
            entities.forEachCollectionDescriptor(collection -> warnOfLargeObjects(
                    collection.getRole(), collection.getAttributeMapping().getElementDescriptor()));
        }
        return bean;
    }

    /** Warns of large objects, which belong to a database and do not move with their shard. */
    private static void warnOfLargeObjects(String name, ModelPart columns) {
        columns.forEachSelectable((index, column) -> {
            if (LARGE_OBJECTS.contains(column.getJdbcMapping().getJdbcType().getJdbcTypeCode())) {
                LOG.warn(
                        "%s keeps %s as a large object, which stays behind when its shard moves. Keep the content in the row: without @Lob, in a column of type text or bytea."
                                .formatted(name, column.getSelectionExpression()));
            }
        });
    }

    private void checkIds(EntityPersister entity) {
        if (entity.getGenerator() instanceof SequenceStyleGenerator generator
                && generator.getDatabaseStructure().isPhysicalSequence()) {
            String sequence = generator
                    .getDatabaseStructure()
                    .getPhysicalName()
                    .getObjectName()
                    .getText();
            if (isIdSequence(sequence)) {
                throw new ShardflakeStartException(
                        "%s takes ids from %s as they are, but that is an id sequence of Shardflake, whose numbers are not ids."
                                .formatted(entity.getEntityName(), sequence),
                        "Annotate its id with @GeneratedShardflakeId instead of @GeneratedValue.");
            }
        }
    }

    private boolean isIdSequence(String sequence) {
        try (Connection connection = HibernateShards.ofFirstShard(router.get());
                PreparedStatement look = connection.prepareStatement(IS_ID_SEQUENCE)) {
            look.setString(1, Sharding.schema(0));
            look.setString(2, sequence);
            try (ResultSet row = look.executeQuery()) {
                return row.next() && row.getBoolean(1);
            }
        } catch (SQLException e) {
            throw ShardflakeStartException.because(
                    "The server of the first shard does not say what %s is".formatted(sequence),
                    e,
                    "Check that this login may read the catalog tables of PostgreSQL.");
        }
    }
}
